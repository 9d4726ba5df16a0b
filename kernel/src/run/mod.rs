//! A run directory: made whole or not at all, never overwritten, held by one writer, readable while it is written.
//!
//! ```text
//! scenario.toml       as resolved, every key
//! log/NNNNNNNN.seg    the events
//! blobs/ab/cdef...    bulk data
//! effects/ab/cdef...  answers from outside
//! recovery.log        torn tails that were cut off; beside the chain
//! keyframes/NNN.key   whole worlds, so that any step is near one; derived
//! lineage/RUN.toml    scenarios of the runs that a fork descends from
//! timing.jsonl        wall-clock facts; nothing hashes them
//! LOCK                who writes
//! ```

mod create;
mod error;
mod header;
mod lineage;
mod lock;
mod reader;
mod timing;

pub use create::create_on;
pub(crate) use create::{Staged, create, make_whole};
pub use error::RunError;
pub use header::RunHeader;
pub use lineage::{ForkPoint, Lineage};
pub(crate) use lock::{Lock, is_held, refuse_held};
pub(crate) use reader::events;
pub use reader::{RunReader, Totals};
pub use timing::Timing;
pub(crate) use timing::TimingLog;

use crate::id::Digest;

/// The resolved scenario.
pub(crate) const SCENARIO: &str = "scenario.toml";
/// Where the scenarios of a fork's ancestors lie.
const LINEAGE: &str = "lineage";

/// The resolved scenario of a run that this one descends from.
pub(crate) fn scenario_of(ancestor: Digest) -> String {
    format!("{LINEAGE}/{ancestor}.toml")
}
