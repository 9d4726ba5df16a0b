//! The log: an append-only, hash-chained record of events in commit groups. `docs/log-format.md` has every byte.
//!
//! *Architecture invariant*: the log knows bytes, schemas and hashes; it does not know what an event means.

mod commit;
mod cursor;
mod error;
mod frame;
mod group;
mod recovery;
mod segment;
mod writer;

pub(crate) use commit::genesis;
pub use commit::{COMMIT_BODY, Commit};
pub(crate) use cursor::segment_indices;
pub use cursor::{Cursor, Position, Tail, Torn};
pub use error::{Fault, LogError};
pub use frame::{ALIGNMENT, FRAME_HEADER, FrameFault, FrameHeader, FrameKind};
pub use group::Group;
pub(crate) use group::{Closing, GroupBuffer};
pub(crate) use recovery::{RECOVERY_LOG, last_step_in, recover, settle};
pub(crate) use segment::name as segment_name;
pub use segment::{FORMAT, MAGIC, SEGMENT_HEADER, SegmentFault, SegmentHeader};
pub(crate) use writer::{Sealed, Writer};
