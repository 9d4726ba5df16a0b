//! How deciders read blobs.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bevy_ecs::prelude::Resource;

use super::{BlobError, BlobStore, Overlay};
use crate::event::Bulk;
use crate::id::Digest;

/// Read access to the blobs of a run, as a capability: a system takes `Res<BlobReader>`.
///
/// While verifying, blobs that re-executed decisions made lie over the store, so that a decision may read what an
/// earlier one made even where it was superseded and dropped since.
#[derive(Resource, Clone, Debug)]
pub struct BlobReader {
    store: BlobStore,
    overlay: Arc<Mutex<Overlay>>,
}

impl BlobReader {
    /// Access to `store`.
    #[must_use]
    pub fn new(store: BlobStore) -> Self {
        Self { store, overlay: Arc::default() }
    }

    /// The content of a blob, checked against its name.
    pub fn read(&self, digest: Digest) -> Result<Arc<[u8]>, BlobError> {
        let held = self.overlay().get(&digest).cloned();
        held.map_or_else(|| self.store.read(digest), Ok)
    }

    /// The content of a bulk, wherever it is held.
    pub fn bulk<'a>(&self, bulk: &'a Bulk) -> Result<Cow<'a, [u8]>, BlobError> {
        match bulk {
            Bulk::Inline(bytes) => Ok(Cow::Borrowed(bytes)),
            Bulk::Blob(digest) => self.read(*digest).map(|bytes| Cow::Owned(bytes.to_vec())),
        }
    }

    /// Whether a blob can be read.
    pub fn contains(&self, digest: Digest) -> Result<bool, BlobError> {
        Ok(self.overlay().contains_key(&digest) || self.store.contains(digest)?)
    }

    pub(crate) fn lay(&self, blobs: impl Iterator<Item = (Digest, Vec<u8>)>) {
        self.overlay().extend(blobs.map(|(digest, bytes)| (digest, Arc::from(bytes))));
    }

    pub(crate) fn lift(&self, digests: impl Iterator<Item = Digest>) {
        let mut overlay = self.overlay();
        for digest in digests {
            overlay.remove(&digest);
        }
    }

    fn overlay(&self) -> MutexGuard<'_, Overlay> {
        // A map of finished values: a thread that panicked while holding it left it whole.
        self.overlay.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
