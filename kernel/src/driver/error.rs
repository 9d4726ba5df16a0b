//! Why a run could not be opened or moved on.

use crate::blob::BlobError;
use crate::decide::Undecided;
use crate::effect::EffectError;
use crate::event::EncodeError;
use crate::id::Digest;
use crate::log::LogError;
use crate::replay::ReplayError;
use crate::run::RunError;

/// Why a run could not be opened or moved on.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The run directory.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The log could not be folded into a world.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The log could not be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Blobs.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// Effects.
    #[error(transparent)]
    Effect(#[from] EffectError),
    /// There is no decision.
    #[error(transparent)]
    Undecided(#[from] Undecided),
    /// A decision holds an event that cannot be stored.
    #[error("system {system}: {error}")]
    Encode {
        /// The system.
        system: &'static str,
        /// What is wrong.
        #[source]
        error: EncodeError,
    },
    /// A decision names a blob that is neither stored nor part of it.
    #[error("system {system}: {event} names blob {digest}, which is neither stored nor part of the decision")]
    MissingBlob {
        /// The system.
        system: &'static str,
        /// The event.
        event: &'static str,
        /// The blob.
        digest: Digest,
    },
    /// An earlier failure left this kernel's memory and the medium apart.
    #[error("an earlier failure poisoned the run; open it again")]
    Poisoned,
}
