//! The ordered index: the one way from a stable id to a bevy entity, and the one order of iteration.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeBounds;

use bevy_ecs::prelude::{Component, Entity, Resource};

use super::registry::{COMPONENTS, Registered};
use crate::id::StableId;

/// The stable id of an entity, for queries that must sort what they find.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity(pub StableId);

/// Entities by stable id, over all and by component. Query order is not deterministic in bevy; this order is.
#[derive(Resource, Debug)]
pub struct Index {
    all: BTreeMap<StableId, Entity>,
    by_component: [BTreeMap<StableId, Entity>; COMPONENTS],
    by_subject: BTreeMap<StableId, BTreeSet<StableId>>,
}

impl Index {
    pub(super) fn new() -> Self {
        Self {
            all: BTreeMap::new(),
            by_component: std::array::from_fn(|_| BTreeMap::new()),
            by_subject: BTreeMap::new(),
        }
    }

    /// The entity of `id`.
    pub fn get(&self, id: StableId) -> Option<Entity> {
        self.all.get(&id).copied()
    }

    /// All entities, ascending by id.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (StableId, Entity)> + '_ {
        self.all.iter().map(|(&id, &entity)| (id, entity))
    }

    /// How many entities there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Entities that carry component `C` and whose id is within `range`, ascending.
    pub fn with<C: Registered>(
        &self,
        range: impl RangeBounds<StableId>,
    ) -> impl DoubleEndedIterator<Item = (StableId, Entity)> + '_ {
        self.by_component[C::SLOT].range(range).map(|(&id, &entity)| (id, entity))
    }

    /// Entities that carry the component of `slot`.
    pub(super) fn with_slot(&self, slot: usize) -> &BTreeMap<StableId, Entity> {
        &self.by_component[slot]
    }

    /// How many entities carry component `C`.
    pub fn count<C: Registered>(&self) -> usize {
        self.by_component[C::SLOT].len()
    }

    /// Trajectories played on `subject`, ascending by id.
    pub fn played_on(&self, subject: StableId) -> impl DoubleEndedIterator<Item = StableId> + '_ {
        self.by_subject.get(&subject).into_iter().flatten().copied()
    }

    pub(super) fn note_entity(&mut self, id: StableId, entity: Entity) {
        self.all.insert(id, entity);
    }

    pub(super) fn note_component(&mut self, slot: usize, id: StableId, entity: Entity) {
        self.by_component[slot].insert(id, entity);
    }

    pub(super) fn forget_component(&mut self, slot: usize, id: StableId) {
        self.by_component[slot].remove(&id);
    }

    pub(super) fn note_played(&mut self, subject: StableId, trajectory: StableId) {
        self.by_subject.entry(subject).or_default().insert(trajectory);
    }

    pub(super) fn forget_played(&mut self, subject: StableId, trajectory: StableId) {
        if let Some(played) = self.by_subject.get_mut(&subject) {
            played.remove(&trajectory);
        }
    }
}
