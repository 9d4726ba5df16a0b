//! What can be wrong with a run directory.

use std::io;

use crate::effect::EffectError;
use crate::id::{Digest, Step};
use crate::log::{LogError, Torn};
use crate::replay::ReplayError;
use crate::run::RunError;

/// One thing that is wrong, and where.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The log cannot be read or folded. What lies behind was not looked at.
    #[error(transparent)]
    Log(#[from] ReplayError),
    /// The log ends in a write that was interrupted; or its last group is damaged, which looks the same.
    #[error("log/{:08}.seg ends in {} bytes, from byte {}, that are no whole step: {}", .0.segment, .0.bytes, .0.offset, .0.fault)]
    Torn(Torn),
    /// A blob is not there.
    #[error("blob {digest}, which step {step} names, is missing")]
    MissingBlob {
        /// Its name.
        digest: Digest,
        /// The step that names it first.
        step: Step,
    },
    /// A blob's content is not what its name says.
    #[error("blob {digest} is corrupt: its content has digest {content}")]
    CorruptBlob {
        /// Its name.
        digest: Digest,
        /// Digest of what is there.
        content: Digest,
    },
    /// An answer is not there.
    #[error("the answer to request {request}, which step {step} used, is missing")]
    MissingAnswer {
        /// Digest of kind and request.
        request: Digest,
        /// The step that used it first.
        step: Step,
    },
    /// An answer is there, whole, and not the one that was used.
    #[error("the answer to request {request} is another than step {step} used")]
    OtherAnswer {
        /// Digest of kind and request.
        request: Digest,
        /// The step that used it first.
        step: Step,
    },
    /// An answer cannot be read.
    #[error("{error}")]
    CorruptAnswer {
        /// Digest of kind and request.
        request: Digest,
        /// What is wrong.
        #[source]
        error: EffectError,
    },
    /// A file cannot be read.
    #[error("{file}: {error}")]
    Unreadable {
        /// The file, or directory, within the run.
        file: String,
        /// What failed.
        #[source]
        error: io::Error,
    },
}

impl Problem {
    /// The file at fault, within the run directory; the byte in it, where one is known.
    #[must_use]
    pub fn place(&self) -> (String, Option<u64>) {
        match self {
            Self::Log(ReplayError::Run(RunError::Log(LogError::Corrupt { segment, offset, .. }))) => {
                (crate::log::segment_name(*segment), Some(*offset))
            }
            Self::Log(ReplayError::Run(RunError::Log(LogError::MissingSegment(segment)))) => {
                (crate::log::segment_name(*segment), None)
            }
            Self::Log(_) => ("log".to_owned(), None),
            Self::Torn(torn) => (crate::log::segment_name(torn.segment), Some(torn.offset)),
            Self::MissingBlob { digest, .. } | Self::CorruptBlob { digest, .. } => {
                (shelved("blobs", *digest), None)
            }
            Self::MissingAnswer { request, .. }
            | Self::OtherAnswer { request, .. }
            | Self::CorruptAnswer { request, .. } => (shelved("effects", *request), None),
            Self::Unreadable { file, .. } => (file.clone(), None),
        }
    }
}

fn shelved(directory: &str, digest: Digest) -> String {
    let hex = digest.to_hex();
    format!("{directory}/{}/{}", &hex[..2], &hex[2..])
}
