//! Lifting payloads of older versions to the current ones. The place for `V1 -> V2` when a payload changes.
//!
//! A payload type that was ever released stays in `payload.rs`; its schema id moves here, to an arm that decodes the old
//! type and builds the new event from it.

use super::{DecodeError, Event};

/// Decodes a body whose schema is not a current one.
pub(super) fn upcast(schema: u16, _body: &[u8]) -> Result<Event, DecodeError> {
    // No payload has a second version yet.
    Err(DecodeError::UnknownSchema(schema))
}
