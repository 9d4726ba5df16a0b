//! What is asked and told of the care for run directories.

use std::path::PathBuf;

use serde::Serialize;
use tadpole_kernel::upkeep::Stored;

/// Whether a run is whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CheckReport {
    /// Whether nothing is wrong.
    pub(crate) whole: bool,
    /// Sound steps.
    pub(crate) steps: u64,
    /// Events in them.
    pub(crate) events: u64,
    /// Chain digest of the last of them.
    pub(crate) chain: Option<String>,
    /// Whether the run is over, rather than interrupted.
    pub(crate) finished: bool,
    /// Whether a process writes to it.
    pub(crate) live: bool,
    /// Its blobs.
    pub(crate) blobs: Stored,
    /// Its answers from outside.
    pub(crate) answers: Stored,
    /// What is wrong.
    pub(crate) problems: Vec<Complaint>,
}

/// One thing that is wrong with a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Complaint {
    /// The file, within the run's directory.
    pub(crate) file: String,
    /// The byte in it, where one is known.
    pub(crate) byte: Option<u64>,
    /// In words.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) help: String,
}

/// What was saved of a damaged run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SalvageReport {
    /// Where it is.
    pub(crate) directory: PathBuf,
    /// Steps of the new run.
    pub(crate) steps: u64,
    /// Chain digest of its last.
    pub(crate) chain: String,
    /// Steps that anything was left of and that are not in it.
    pub(crate) lost_steps: u64,
    /// Why it ends where it does.
    pub(crate) lost: Vec<String>,
    /// Blobs copied.
    pub(crate) blobs: u64,
    /// Answers copied.
    pub(crate) answers: u64,
}

/// What nothing in a run needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct GcReport {
    /// Whether it was removed, rather than only found.
    pub(crate) removed: bool,
    /// Blobs that no committed event names.
    pub(crate) unnamed: Vec<String>,
    /// Blobs that later commits superseded.
    pub(crate) superseded: Vec<String>,
    /// Half-written files.
    pub(crate) leftovers: Vec<String>,
    /// Bytes of all of them.
    pub(crate) bytes: u64,
    /// Blobs that stay.
    pub(crate) kept: u64,
}
