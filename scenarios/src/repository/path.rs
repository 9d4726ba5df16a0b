//! Which paths a tree may have.

use thiserror::Error;

/// Why a path was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// Empty, absolute, with an empty, `.` or `..` part, or with a NUL.
    #[error("{path:?} is not a plain relative path")]
    Malformed {
        /// The path.
        path: String,
    },
    /// A parent of it is a file or link.
    #[error("{path} cannot lie below {file}, which is not a directory")]
    BelowFile {
        /// The path.
        path: String,
        /// The parent that stands in the way.
        file: String,
    },
    /// Other entries lie below it.
    #[error("{path} is a directory")]
    IsDirectory {
        /// The path.
        path: String,
    },
}

/// Refuses what is not a plain relative path.
pub(super) fn check(path: &str) -> Result<(), PathError> {
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    if !path.contains('\0') && path.split('/').all(plain) {
        return Ok(());
    }
    Err(PathError::Malformed { path: path.to_owned() })
}

/// Directories that hold `path`, outermost first, without the root.
pub(super) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}
