//! Which pages the sequences of a number of slots are made of; what stands on the pages is kept elsewhere.
//!
//! *Invariant*: a page that more than one sequence refers to is full, and a full page is never written.

use super::kv::BLOCK;

/// Pages by number, from 0 on without a gap, and the slots that refer to them.
pub(crate) struct Pages {
    references: Vec<u32>,
    free: Vec<usize>,
    slots: Vec<Slot>,
}

#[derive(Clone, Default)]
struct Slot {
    pages: Vec<usize>,
    len: usize,
    /// The last token and the one before it.
    last: [Option<u32>; 2],
}

/// A page whose content must be copied to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageCopy {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

impl Pages {
    /// Slots without pages.
    pub(crate) fn new(slots: usize) -> Self {
        Self { references: Vec::new(), free: Vec::new(), slots: vec![Slot::default(); slots] }
    }

    /// Number of slots.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// How many pages there are, free ones included.
    pub(crate) fn count(&self) -> usize {
        self.references.len()
    }

    /// Positions of a slot.
    pub(crate) fn len(&self, slot: usize) -> usize {
        self.slots[slot].len
    }

    /// The last token of a slot and the one before it.
    pub(crate) fn last(&self, slot: usize) -> [Option<u32>; 2] {
        self.slots[slot].last
    }

    /// The pages of a slot, in the order of positions.
    pub(crate) fn of(&self, slot: usize) -> &[usize] {
        &self.slots[slot].pages
    }

    /// Empties a slot.
    pub(crate) fn reset(&mut self, slot: usize) {
        let pages = std::mem::take(&mut self.slots[slot]).pages;
        for page in pages {
            self.references[page] -= 1;
            if self.references[page] == 0 {
                self.free.push(page);
            }
        }
    }

    /// Makes `to` refer to what `from` refers to: full pages are shared, a last one that is not full is to be copied.
    pub(crate) fn fork(&mut self, from: usize, to: usize) -> Option<PageCopy> {
        if from == to {
            return None;
        }
        self.reset(to);
        let Slot { pages, len, last } = self.slots[from].clone();
        let full = len / BLOCK;
        let mut taken = pages[..full].to_vec();
        for &page in &taken {
            self.references[page] += 1;
        }
        let copy = (len > full * BLOCK).then(|| PageCopy { from: pages[full], to: self.take() });
        taken.extend(copy.map(|copy| copy.to));
        self.slots[to] = Slot { pages: taken, len, last };
        copy
    }

    /// Gives a slot pages for `len` positions.
    pub(crate) fn reserve(&mut self, slot: usize, len: usize) {
        while self.slots[slot].pages.len() * BLOCK < len {
            let page = self.take();
            self.slots[slot].pages.push(page);
        }
    }

    /// Says that a slot's pages have been written up to behind these tokens.
    pub(crate) fn advance(&mut self, slot: usize, tokens: &[u32]) {
        let slot = &mut self.slots[slot];
        slot.len += tokens.len();
        for &token in &tokens[tokens.len().saturating_sub(2)..] {
            slot.last = [Some(token), slot.last[0]];
        }
    }

    /// How many pages no slot refers to.
    #[cfg(test)]
    pub(super) fn free(&self) -> usize {
        assert_eq!(self.references.iter().filter(|&&references| references == 0).count(), self.free.len());
        self.free.len()
    }

    fn take(&mut self) -> usize {
        if let Some(page) = self.free.pop() {
            self.references[page] = 1;
            return page;
        }
        self.references.push(1);
        self.count() - 1
    }
}
