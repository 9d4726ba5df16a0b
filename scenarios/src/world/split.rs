//! What training sees, and what it never does.

use serde::{Deserialize, Serialize};

use super::template::{Role, Share};

/// Which part of the world a project comes from. Sources of different parts are never the same program: parameters
/// of training templates are divided by the digest of the normalised source, whatever the seed, and the templates that
/// training never sees make other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Training templates, with the parameters left to training (five in six).
    Train,
    /// Training templates, with parameters that training never draws.
    UnseenParameters,
    /// Templates that training never draws.
    UnseenTemplates,
}

impl Split {
    pub(super) const fn role(self) -> Role {
        match self {
            Self::Train | Self::UnseenParameters => Role::Train,
            Self::UnseenTemplates => Role::Unseen,
        }
    }

    pub(super) const fn share(self) -> Share {
        match self {
            Self::Train | Self::UnseenTemplates => Share::Open,
            Self::UnseenParameters => Share::Reserved,
        }
    }
}
