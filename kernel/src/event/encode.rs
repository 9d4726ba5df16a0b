//! Events as bytes: rkyv bodies, read by checked access.
//!
//! The body of a frame is one rkyv archive whose root sits at its end, so its exact length matters and padding is not part
//! of it. Only the current version of each payload is written; older ones are lifted by `upcast`.

use rkyv::rancor::BoxedError;
use rkyv::util::AlignedVec;

use super::Event;

/// A body that is not what its schema says.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// No version of this program wrote such a schema, or a later one did.
    #[error("schema {0:#06x} is unknown to this version")]
    UnknownSchema(u16),
    /// The bytes are no archive of the payload.
    #[error("the body is no valid {name}: {error}")]
    Invalid {
        /// Name of the event.
        name: &'static str,
        /// What bytecheck found.
        #[source]
        error: BoxedError,
    },
}

/// An event that cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// A float in it is infinite or not a number.
    #[error("{0} holds a float that is not finite")]
    NotFinite(&'static str),
    /// It does not fit a frame.
    #[error("{name} is too large: {error}")]
    TooLarge {
        /// Name of the event.
        name: &'static str,
        /// What failed.
        #[source]
        error: BoxedError,
    },
}

/// What the macro over all events expands to; see `events!`.
pub(super) fn archived(
    name: &'static str,
    result: Result<AlignedVec, BoxedError>,
) -> Result<AlignedVec, EncodeError> {
    result.map_err(|error| EncodeError::TooLarge { name, error })
}

/// Reads a body with the current payload type of its schema.
pub(super) fn restored<T>(name: &'static str, result: Result<T, BoxedError>) -> Result<T, DecodeError> {
    result.map_err(|error| DecodeError::Invalid { name, error })
}

impl Event {
    /// Refuses floats that are not finite: they would not compare, and JSON cannot hold them.
    pub(crate) fn check_finite(&self) -> Result<(), EncodeError> {
        let mut bytes = Vec::new();
        match crate::canonical::write(self, &mut bytes) {
            Ok(crate::canonical::Finite::Yes) => Ok(()),
            Ok(crate::canonical::Finite::No) | Err(_) => Err(EncodeError::NotFinite(self.name())),
        }
    }
}
