//! The content-addressed store of bulk data: blobs named by their blake3 digest, verified whenever read.
//!
//! A blob is `blobs/ab/cdef...`, one file each. A step's blobs are durable (file synced, renamed, directory synced)
//! before the commit group that names them is written, so that a committed event never names a missing blob.

mod reader;
pub(crate) mod retention;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

pub use reader::BlobReader;
pub use retention::Moments;

use crate::id::Digest;
use crate::storage::{Storage, leftovers, list_shelved, sweep_shelves, write_aside};

pub(crate) const DIR: &str = "blobs";

/// Why a blob could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// There is no such blob (or it was superseded and dropped).
    #[error("blob {0} is missing")]
    Missing(Digest),
    /// Its content is not what its name says.
    #[error("blob {name} is corrupt: its content has digest {content}")]
    Corrupt {
        /// The name.
        name: Digest,
        /// The digest of what is there.
        content: Digest,
    },
    /// The medium failed.
    #[error("blob {digest}: {error}")]
    Io {
        /// Which blob.
        digest: Digest,
        /// What failed.
        #[source]
        error: io::Error,
    },
    /// The medium failed while listing or syncing.
    #[error("blob store: {0}")]
    Store(#[from] io::Error),
}

/// Blobs on a medium.
#[derive(Clone, Debug)]
pub struct BlobStore {
    storage: Arc<dyn Storage>,
}

impl BlobStore {
    /// The blobs of a run directory.
    #[must_use]
    pub fn new(storage: Arc<dyn Storage>) -> Self {
        Self { storage }
    }

    /// The content of a blob, checked against its name.
    pub fn read(&self, digest: Digest) -> Result<Arc<[u8]>, BlobError> {
        let bytes = self.storage.read(&name(digest)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => BlobError::Missing(digest),
            _ => BlobError::Io { digest, error },
        })?;
        let content = Digest::of(&bytes);
        if content == digest {
            Ok(Arc::from(bytes.as_slice()))
        } else {
            Err(BlobError::Corrupt { name: digest, content })
        }
    }

    /// Bytes of a blob, whole or not.
    pub(crate) fn size(&self, digest: Digest) -> Result<u64, BlobError> {
        let bytes = self.storage.read(&name(digest)).map_err(|error| BlobError::Io { digest, error })?;
        Ok(bytes.len() as u64)
    }

    /// Whether a blob is there.
    pub fn contains(&self, digest: Digest) -> Result<bool, BlobError> {
        self.storage.exists(&name(digest)).map_err(|error| BlobError::Io { digest, error })
    }

    /// Stores blobs durably. Those that are there already are left as they are.
    pub(crate) fn write<'a>(&self, blobs: impl Iterator<Item = (Digest, &'a [u8])>) -> Result<(), BlobError> {
        let mut touched = BTreeSet::new();
        for (digest, bytes) in blobs {
            if self.contains(digest)? {
                continue;
            }
            let shelf = shelf(digest);
            self.storage.make_dir(&shelf)?;
            let written = write_aside(self.storage.as_ref(), &name(digest), bytes);
            written.map_err(|error| BlobError::Io { digest, error })?;
            touched.insert(shelf);
        }
        for shelf in touched {
            self.storage.sync_dir(&shelf)?;
        }
        Ok(())
    }

    /// Removes blobs; those that are gone already are no fault.
    pub(crate) fn remove(&self, digests: &BTreeSet<Digest>) -> Result<(), BlobError> {
        let mut touched = BTreeSet::new();
        for &digest in digests {
            if self.contains(digest)? {
                self.storage.remove(&name(digest)).map_err(|error| BlobError::Io { digest, error })?;
                touched.insert(shelf(digest));
            }
        }
        for shelf in touched {
            self.storage.sync_dir(&shelf)?;
        }
        Ok(())
    }

    /// Removes what a crash left half-written, and makes durable what it left whole.
    pub(crate) fn sweep(&self) -> Result<(), BlobError> {
        Ok(sweep_shelves(self.storage.as_ref(), DIR)?)
    }

    /// Half-written files, by name.
    pub(crate) fn leftovers(&self) -> Result<Vec<String>, BlobError> {
        Ok(leftovers(self.storage.as_ref(), DIR)?)
    }

    /// All blobs, ascending.
    pub fn list(&self) -> Result<BTreeSet<Digest>, BlobError> {
        Ok(list_shelved(self.storage.as_ref(), DIR)?)
    }
}

/// Blobs held in memory beside a store.
pub(crate) type Overlay = BTreeMap<Digest, Arc<[u8]>>;

fn shelf(digest: Digest) -> String {
    format!("{DIR}/{}", &digest.to_hex()[..2])
}

fn name(digest: Digest) -> String {
    let hex = digest.to_hex();
    format!("{DIR}/{}/{}", &hex[..2], &hex[2..])
}
