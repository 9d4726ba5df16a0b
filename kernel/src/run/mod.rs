//! A run directory: made whole or not at all, never overwritten, held by one writer, readable while it is written.
//!
//! ```text
//! scenario.toml       as resolved, every key
//! log/NNNNNNNN.seg    the events
//! blobs/ab/cdef...    bulk data
//! effects/ab/cdef...  answers from outside
//! recovery.log        torn tails that were cut off; beside the chain
//! timing.jsonl        wall-clock facts; nothing hashes them
//! LOCK                who writes
//! ```

mod create;
mod error;
mod header;
mod lock;
mod reader;
mod timing;

pub(crate) use create::Staged;
pub(crate) use create::create;
pub use create::create_on;
pub use error::RunError;
pub use header::RunHeader;
pub(crate) use lock::{Lock, is_held};
pub(crate) use reader::events;
pub use reader::{RunReader, Totals};
pub use timing::Timing;
pub(crate) use timing::TimingLog;

/// The resolved scenario.
pub(crate) const SCENARIO: &str = "scenario.toml";
