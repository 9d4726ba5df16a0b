//! The incremental world digest.
//!
//! Every (component type, stable id) has a term: `blake3(name, id, canonical bytes)`. A type's sum is the sum of its
//! terms modulo 2^256, so that terms may come and go in any order; the world digest is one blake3 over names, counts and
//! sums in registry order. Only what was touched since the last digest is hashed again.
//!
//! A sum modulo 2^256 withstands accidents, not adversaries; forgery is what verification by re-execution is for.

use std::collections::BTreeMap;

use bevy_ecs::prelude::{Entity, EntityRef};

use super::registry::{COMPONENTS, REGISTRY};
use crate::id::{Digest, StableId};

const TERM_DOMAIN: &str = "tadpole 2026 world digest term v1";
const WORLD_DOMAIN: &str = "tadpole 2026 world digest v1";

/// An integer modulo 2^256, least significant limb first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum([u64; 4]);

impl Sum {
    fn from_digest(bytes: &[u8; 32]) -> Self {
        Self(std::array::from_fn(|limb| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[limb * 8..limb * 8 + 8]);
            u64::from_le_bytes(word)
        }))
    }

    fn add(&mut self, other: Self) {
        let mut carry = false;
        for (limb, addend) in self.0.iter_mut().zip(other.0) {
            let (partial, first) = limb.overflowing_add(addend);
            let (total, second) = partial.overflowing_add(u64::from(carry));
            *limb = total;
            carry = first || second;
        }
    }

    fn subtract(&mut self, other: Self) {
        let mut borrow = false;
        for (limb, subtrahend) in self.0.iter_mut().zip(other.0) {
            let (partial, first) = limb.overflowing_sub(subtrahend);
            let (total, second) = partial.overflowing_sub(u64::from(borrow));
            *limb = total;
            borrow = first || second;
        }
    }

    fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (chunk, limb) in bytes.chunks_exact_mut(8).zip(self.0) {
            chunk.copy_from_slice(&limb.to_le_bytes());
        }
        bytes
    }
}

#[derive(Debug, Default)]
struct TypeLedger {
    sum: Sum,
    terms: BTreeMap<StableId, Sum>,
}

impl TypeLedger {
    fn set(&mut self, id: StableId, term: Option<Sum>) {
        let old = match term {
            Some(term) => {
                self.sum.add(term);
                self.terms.insert(id, term)
            }
            None => self.terms.remove(&id),
        };
        if let Some(old) = old {
            self.sum.subtract(old);
        }
    }
}

/// Terms of every component, and what must be hashed again.
#[derive(Debug)]
pub(super) struct Ledger {
    types: [TypeLedger; COMPONENTS],
    dirty: Vec<(usize, StableId)>,
    term: blake3::Hasher,
    buffer: Vec<u8>,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self {
            types: std::array::from_fn(|_| TypeLedger::default()),
            dirty: Vec::new(),
            term: blake3::Hasher::new_derive_key(TERM_DOMAIN),
            buffer: Vec::new(),
        }
    }

    pub(super) fn touch(&mut self, slot: usize, id: StableId) {
        self.dirty.push((slot, id));
    }

    /// Hashes what was touched and returns the digest of the world. `entity` finds the entity of an id.
    pub(super) fn settle<'w>(&mut self, entity: impl Fn(StableId) -> Option<EntityRef<'w>>) -> Digest {
        self.dirty.sort_unstable();
        self.dirty.dedup();
        for (slot, id) in std::mem::take(&mut self.dirty) {
            let term = entity(id).and_then(|entity| self.hash(slot, id, entity));
            self.types[slot].set(id, term);
        }
        self.digest()
    }

    /// The terms that differ from those of `entities`, hashed anew: (component name, id).
    pub(super) fn audit<'w>(
        &mut self,
        entities: impl Iterator<Item = (StableId, Entity, EntityRef<'w>)>,
    ) -> Option<(&'static str, StableId)> {
        let mut fresh = Self::new();
        for (id, _, entity) in entities {
            for (slot, registration) in REGISTRY.iter().enumerate() {
                let term = fresh.hash(slot, id, entity);
                if term != self.types[slot].terms.get(&id).copied() {
                    return Some((registration.name, id));
                }
                fresh.types[slot].set(id, term);
            }
        }
        (0..COMPONENTS)
            .find(|&slot| fresh.types[slot].sum != self.types[slot].sum)
            .map(|slot| (REGISTRY[slot].name, StableId(0)))
    }

    fn hash(&mut self, slot: usize, id: StableId, entity: EntityRef<'_>) -> Option<Sum> {
        let registration = &REGISTRY[slot];
        self.buffer.clear();
        self.buffer.extend_from_slice(&(registration.name.len() as u64).to_le_bytes());
        self.buffer.extend_from_slice(registration.name.as_bytes());
        self.buffer.extend_from_slice(&id.0.to_le_bytes());
        if !(registration.canonical)(entity, &mut self.buffer) {
            return None;
        }
        self.term.reset();
        self.term.update(&self.buffer);
        Some(Sum::from_digest(self.term.finalize().as_bytes()))
    }

    fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new_derive_key(WORLD_DOMAIN);
        for (registration, ledger) in REGISTRY.iter().zip(&self.types) {
            hasher.update(&(registration.name.len() as u64).to_le_bytes());
            hasher.update(registration.name.as_bytes());
            hasher.update(&(ledger.terms.len() as u64).to_le_bytes());
            hasher.update(&ledger.sum.to_bytes());
        }
        Digest(*hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_commute_and_undo() {
        let terms = [[0xFF; 32], [0x01; 32], [0x80; 32]].map(|bytes| Sum::from_digest(&bytes));
        let mut forward = Sum::default();
        let mut backward = Sum::default();
        for (term, other) in terms.iter().zip(terms.iter().rev()) {
            forward.add(*term);
            backward.add(*other);
        }
        assert_eq!(forward, backward);
        for term in terms {
            forward.subtract(term);
        }
        assert_eq!(forward, Sum::default());
        let mut wrapped = Sum([u64::MAX; 4]);
        wrapped.add(Sum([1, 0, 0, 0]));
        assert_eq!(wrapped, Sum::default());
    }
}
