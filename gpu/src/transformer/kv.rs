//! Keys and values of many sequences, in pages that sequences may share.
//!
//! A page holds [`BLOCK`] positions of every layer and every key-value head. Within it, a head's keys stand channel by
//! channel (the sixteen positions of channel 0, then of channel 1, ...) and its values position by position in panels of
//! sixteen channels: both are panels of a packed matrix, so scores and weighted sums are ordinary matrix products.

use super::pages::{PageCopy, Pages};
use crate::shape::ModelShape;
use crate::vector::{LANES, Line, prefetch};

/// Positions of a page.
pub(crate) const BLOCK: usize = LANES;

/// The cache of a number of slots, one sequence a slot.
pub(crate) struct KvCache {
    head_dim: usize,
    kv_heads: usize,
    layers: usize,
    pages: Pages,
    lines: Vec<Box<[Line]>>,
}

/// One head's keys and values of one sequence in one layer.
#[derive(Clone, Copy)]
pub(crate) struct HeadView<'a> {
    cache: &'a KvCache,
    pages: &'a [usize],
    offset: usize,
}

impl HeadView<'_> {
    /// Keys of a block of positions: a line a channel.
    #[inline(always)]
    pub(crate) fn keys(&self, block: usize) -> &[Line] {
        let lines = &self.cache.lines[self.pages[block]];
        &lines[self.offset..][..self.cache.head_dim]
    }

    /// Values of a block of positions: for each panel of sixteen channels, a line a position.
    #[inline(always)]
    pub(crate) fn values(&self, block: usize) -> &[Line] {
        let lines = &self.cache.lines[self.pages[block]];
        &lines[self.offset + self.cache.head_dim..][..self.cache.head_dim]
    }

    /// Begins to load the keys of a block, where there is such a block.
    #[inline(always)]
    pub(crate) fn prefetch_keys(&self, block: usize) {
        if block < self.pages.len() {
            prefetch(self.keys(block));
        }
    }
}

impl KvCache {
    /// An empty cache; pages are allocated as they are needed.
    pub(crate) fn new(shape: &ModelShape, slots: usize) -> Self {
        Self {
            head_dim: shape.head_dim as usize,
            kv_heads: shape.kv_heads as usize,
            layers: shape.layers as usize,
            pages: Pages::new(slots),
            lines: Vec::new(),
        }
    }

    /// Number of slots.
    pub(crate) fn slots(&self) -> usize {
        self.pages.slots()
    }

    /// Positions of a slot.
    pub(crate) fn len(&self, slot: usize) -> usize {
        self.pages.len(slot)
    }

    /// The last token of a slot and the one before it.
    pub(crate) fn last(&self, slot: usize) -> [Option<u32>; 2] {
        self.pages.last(slot)
    }

    /// Empties a slot.
    pub(crate) fn reset(&mut self, slot: usize) {
        self.pages.reset(slot);
    }

    /// Makes `to` hold what `from` holds: full pages are shared, the last one is copied.
    pub(crate) fn fork(&mut self, from: usize, to: usize) {
        if let Some(PageCopy { from, to }) = self.pages.fork(from, to) {
            self.allocate();
            self.lines[to] = self.lines[from].clone();
        }
    }

    /// Gives a slot pages for `len` positions.
    pub(crate) fn reserve(&mut self, slot: usize, len: usize) {
        self.pages.reserve(slot, len);
        self.allocate();
    }

    /// Says that a slot's keys and values have been written up to behind these tokens.
    pub(crate) fn advance(&mut self, slot: usize, tokens: &[u32]) {
        self.pages.advance(slot, tokens);
    }

    /// Writes one position's key and value of one head.
    #[inline(always)]
    pub(crate) fn write(&mut self, place: Place, key: &[f32], value: &[f32]) {
        let page = self.pages.of(place.slot)[place.position / BLOCK];
        let lane = place.position % BLOCK;
        let offset = self.offset(place.layer, place.head);
        let lines = &mut self.lines[page][offset..][..2 * self.head_dim];
        let (keys, values) = lines.split_at_mut(self.head_dim);
        for (line, &channel) in keys.iter_mut().zip(key) {
            line.0[lane] = channel;
        }
        for (panel, part) in value.as_chunks::<LANES>().0.iter().enumerate() {
            values[panel * BLOCK + lane].0 = *part;
        }
    }

    /// One head of one sequence in one layer, to read.
    #[inline(always)]
    pub(crate) fn view(&self, slot: usize, layer: usize, head: usize) -> HeadView<'_> {
        HeadView { cache: self, pages: self.pages.of(slot), offset: self.offset(layer, head) }
    }

    fn offset(&self, layer: usize, head: usize) -> usize {
        (layer * self.kv_heads + head) * 2 * self.head_dim
    }

    /// Makes room for every page.
    fn allocate(&mut self) {
        while self.lines.len() < self.pages.count() {
            let lines = vec![Line::ZERO; self.layers * self.kv_heads * 2 * self.head_dim];
            self.lines.push(lines.into_boxed_slice());
        }
    }
}

/// Where a key and a value belong.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) slot: usize,
    pub(crate) layer: usize,
    pub(crate) head: usize,
    pub(crate) position: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::tests::TINY;

    fn fill(cache: &mut KvCache, slot: usize, from: usize, to: usize, tag: f32) {
        cache.reserve(slot, to);
        for position in from..to {
            for layer in 0..2 {
                let key: Vec<f32> = (0..32).map(|d| tag + (position * 32 + d) as f32).collect();
                let value: Vec<f32> = key.iter().map(|x| -x).collect();
                cache.write(Place { slot, layer, head: 0, position }, &key, &value);
            }
            cache.advance(slot, &[position as u32]);
        }
    }

    fn key_at(cache: &KvCache, slot: usize, position: usize, channel: usize) -> f32 {
        cache.view(slot, 1, 0).keys(position / BLOCK)[channel].0[position % BLOCK]
    }

    fn value_at(cache: &KvCache, slot: usize, position: usize, channel: usize) -> f32 {
        let values = cache.view(slot, 1, 0);
        values.values(position / BLOCK)[channel / 16 * BLOCK + position % BLOCK].0[channel % 16]
    }

    #[test]
    fn a_forked_slot_shares_its_past_and_nothing_of_its_future() {
        let mut cache = KvCache::new(&TINY, 3);
        fill(&mut cache, 0, 0, 40, 0.5);
        cache.fork(0, 1);
        assert_eq!(cache.pages.count(), 4);
        fill(&mut cache, 0, 40, 44, 1000.5);
        fill(&mut cache, 1, 40, 44, 2000.5);
        for position in 0..44 {
            let tag = |of: f32| if position < 40 { 0.5 } else { of };
            for (slot, of) in [(0, 1000.5), (1, 2000.5)] {
                let expected = tag(of) + (position * 32 + 17) as f32;
                assert_eq!(key_at(&cache, slot, position, 17), expected);
                assert_eq!(value_at(&cache, slot, position, 17), -expected);
            }
        }
        assert_eq!(cache.last(1), [Some(43), Some(42)]);
        cache.reset(0);
        assert_eq!(cache.pages.free(), 1);
        cache.reset(1);
        assert_eq!(cache.pages.free(), cache.pages.count());
        assert_eq!(cache.len(1), 0);
    }
}
