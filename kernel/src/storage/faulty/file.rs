//! A file: what processes read, and what is on the medium.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::SECTOR;
use crate::draws::Stream;

#[derive(Clone, Debug, Default)]
pub(super) struct File {
    cached: Arc<Vec<u8>>,
    durable: Arc<Vec<u8>>,
    /// Sectors that the next sync writes.
    dirty: BTreeSet<usize>,
    /// Whether a sync failed, so that the medium may lack bytes that are not dirty.
    lossy: bool,
}

impl File {
    pub(super) fn durably(bytes: Vec<u8>) -> Self {
        let bytes = Arc::new(bytes);
        Self { cached: Arc::clone(&bytes), durable: bytes, ..Self::default() }
    }

    /// What processes read.
    pub(super) fn bytes(&self) -> &Arc<Vec<u8>> {
        &self.cached
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.write(self.cached.len(), bytes);
    }

    /// Puts `bytes` at `offset`, which is at most the length.
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let end = offset + bytes.len();
        let cached = Arc::make_mut(&mut self.cached);
        if cached.len() < end {
            cached.resize(end, 0);
        }
        cached[offset..end].copy_from_slice(bytes);
        self.dirty.extend(offset / SECTOR..=(end - 1) / SECTOR);
    }

    pub(super) fn truncate(&mut self, length: usize) {
        if length < self.cached.len() {
            Arc::make_mut(&mut self.cached).truncate(length);
        }
    }

    pub(super) fn sync(&mut self) {
        if self.lossy {
            let dirty = std::mem::take(&mut self.dirty);
            self.persist(self.cached.len(), dirty.into_iter().map(|sector| (sector, SECTOR)));
        } else {
            self.durable = Arc::clone(&self.cached);
            self.dirty.clear();
        }
    }

    /// What should have been written counts as clean, and is not on the medium.
    pub(super) fn fail_to_sync(&mut self) {
        self.dirty.clear();
        self.lossy = true;
    }

    /// The power failed and nothing unsynced was kept.
    pub(super) fn lose(&mut self) {
        *self =
            Self { durable: Arc::clone(&self.durable), cached: Arc::clone(&self.durable), ..Self::default() };
    }

    /// The power failed and everything was kept that a sync would have made durable.
    pub(super) fn keep(&mut self) {
        self.sync();
        self.lose();
    }

    /// The power failed and something was kept.
    pub(super) fn lose_some(&mut self, chance: &mut Stream) {
        let (old, new) = (self.durable.len(), self.cached.len());
        let (shorter, span) = (old.min(new), old.abs_diff(new));
        let length = match chance.below(3) {
            0 => shorter,
            1 => shorter + span,
            _ => shorter + chance.below(span as u64 + 1) as usize,
        };
        let dirty = std::mem::take(&mut self.dirty);
        let mut kept = Vec::new();
        for sector in dirty {
            match chance.below(8) {
                0..3 => {}
                3 => kept.push((sector, chance.below(SECTOR as u64) as usize)),
                _ => kept.push((sector, SECTOR)),
            }
        }
        self.persist(length, kept.into_iter());
        self.lose();
    }

    /// Makes the medium's copy `length` long and writes the first bytes of these sectors to it.
    fn persist(&mut self, length: usize, sectors: impl Iterator<Item = (usize, usize)>) {
        let durable = Arc::make_mut(&mut self.durable);
        durable.resize(length, 0);
        for (sector, bytes) in sectors {
            let start = sector * SECTOR;
            let end = (start + bytes).min(length).min(self.cached.len());
            if start < end {
                durable[start..end].copy_from_slice(&self.cached[start..end]);
            }
        }
    }
}
