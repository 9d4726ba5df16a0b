//! Throwing away the blobs that a run does not need.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::problem::Problem;
use super::walk::Walk;
use crate::blob::{BlobError, BlobStore};
use crate::decide::Keep;
use crate::id::Digest;
use crate::replay::ReplayError;
use crate::run::{Lock, RunError, refuse_held};
use crate::storage::{Disk, Storage, sweep_shelves};

/// Whether anything is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collection {
    /// It is.
    Done,
    /// It is only said what would be.
    Rehearsed,
}

/// What was, or would be, removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Blobs that no committed event names.
    pub unnamed: BTreeSet<Digest>,
    /// Blobs that later commits superseded.
    pub superseded: BTreeSet<Digest>,
    /// Half-written files, by name.
    pub leftovers: Vec<String>,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Blobs that stay.
    pub kept: u64,
}

/// Why nothing was removed.
#[derive(Debug, thiserror::Error)]
pub enum GcError {
    /// The run cannot be opened, or is held by a writer.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The log is not whole: it cannot be known what it needs.
    #[error("the log is not whole, so nothing is removed: {0}")]
    Unsound(#[source] Box<Problem>),
    /// The blobs cannot be read or removed.
    #[error(transparent)]
    Blob(#[from] BlobError),
}

/// Removes from a run directory what nothing in it needs. Other runs are not looked at: each has names of its own for the
/// blobs that it shares.
pub fn gc(dir: impl AsRef<Path>, keep: Keep, collection: Collection) -> Result<Collected, GcError> {
    let dir = dir.as_ref();
    let storage: Arc<dyn Storage> = Arc::new(Disk::new(dir));
    // A rehearsal changes nothing, a lock file neither: the medium may be read-only.
    let _lock = match collection {
        Collection::Done => Some(Lock::take(dir)?),
        Collection::Rehearsed => {
            refuse_held(dir)?;
            None
        }
    };
    let walk = folded(&storage)?;
    let store = BlobStore::new(Arc::clone(&storage));
    let present = store.list()?;
    let named: BTreeSet<Digest> = walk.claims.blobs.keys().copied().collect();
    let superseded = match keep {
        Keep::Iterations => walk.superseded(),
        Keep::All => BTreeSet::new(),
    };
    let mut collected = Collected {
        unnamed: &present - &named,
        superseded: &present & &superseded,
        leftovers: store.leftovers()?,
        ..Collected::default()
    };
    let removed = &collected.unnamed | &collected.superseded;
    collected.kept = (present.len() - removed.len()) as u64;
    for &digest in &removed {
        collected.bytes += store.size(digest)?;
    }
    for name in &collected.leftovers {
        collected.bytes += storage.read(name).map_err(BlobError::from)?.len() as u64;
    }
    if collection == Collection::Done {
        store.remove(&removed)?;
        sweep_shelves(storage.as_ref(), crate::blob::DIR).map_err(BlobError::from)?;
    }
    Ok(collected)
}

/// The whole log; anything less, a torn tail too, is refused.
fn folded(storage: &Arc<dyn Storage>) -> Result<Walk, GcError> {
    let unsound = |error: ReplayError| GcError::Unsound(Box::new(error.into()));
    let mut walk = Walk::open(storage).map_err(|error| unsound(RunError::from(error).into()))?;
    while walk.step().map_err(unsound)?.is_some() {}
    match walk.cursor.tail().torn.clone() {
        Some(torn) => Err(GcError::Unsound(Box::new(Problem::Torn(torn)))),
        None => Ok(walk),
    }
}
