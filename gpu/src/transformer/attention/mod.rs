//! Attention of one sequence's queries to its keys, head by head.
//!
//! A *virtual row* is one query head at one position. The query heads that share a key-value head are taken together:
//! virtual row `v` of a block of positions is position `v / group`, head `v % group` of the group. Positions are taken
//! in blocks, so that a block's scores stay in the nearest caches however long the sequence is.

mod backward;
mod forward;
mod tiles;

pub(crate) use backward::{AttendBackward, BackwardScratch};
pub(crate) use forward::{Attend, RowStat};
