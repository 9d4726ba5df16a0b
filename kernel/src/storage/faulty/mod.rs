//! A machine in memory whose power, disk and processes can fail: for tests of what a run survives.
//!
//! It has a page cache. What is written is read back at once, but lasts only when it is synced: a file's bytes by the
//! file's sync, its name by the sync of its directory. When the power fails, any part of the rest may be there: any subset
//! of 512-byte sectors, each whole or torn, a file of any length between the old and the new one, any subset of the changes
//! to a directory. That is the worst that the assumptions about the medium in `docs/log-format.md` allow.
//!
//! A sync that fails drops what it should have written and calls it clean, as Linux does: the next sync succeeds, and the
//! bytes are in the cache alone.

mod directory;
mod file;
mod handle;
mod machine;
mod tree;

pub use machine::{Fault, Machine, Operation, Point, Survival};

/// Bytes that the medium writes at once.
pub const SECTOR: usize = 512;
