//! What can be wrong with a run directory.

use std::io;
use std::path::PathBuf;

use crate::event::DecodeError;
use crate::id::{Sequence, Step};
use crate::log::LogError;

/// Why a run directory could not be made, opened or read.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Something of this name is there already. It was left as it is.
    #[error("{0} exists already; a run is never overwritten: choose another directory")]
    Exists(PathBuf),
    /// Another process writes to the run.
    #[error("{dir} is held by {holder}; wait for it, or end it")]
    Locked {
        /// The run directory.
        dir: PathBuf,
        /// What its lock says.
        holder: String,
    },
    /// The directory holds no run.
    #[error("{0} is not a run directory")]
    NotARun(PathBuf),
    /// The log begins with something else than `RunStarted`.
    #[error("the log does not begin with RunStarted")]
    NotStarted,
    /// The scenario given is not the one that the run was started with.
    #[error("the run was started with another {field}: {recorded}, not {given}")]
    ScenarioChanged {
        /// What differs.
        field: &'static str,
        /// As the log has it.
        recorded: String,
        /// As it was given.
        given: String,
    },
    /// An event's body cannot be read.
    #[error("step {step}, event {sequence}: {error}")]
    Event {
        /// The group.
        step: Step,
        /// The event.
        sequence: Sequence,
        /// What is wrong.
        #[source]
        error: DecodeError,
    },
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The medium failed.
    #[error("{path}: {error}")]
    Io {
        /// What was touched.
        path: PathBuf,
        /// What failed.
        #[source]
        error: io::Error,
    },
}

impl RunError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::Io { path, error }
    }
}
