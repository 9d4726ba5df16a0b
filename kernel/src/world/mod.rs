//! The world: all of a run's state, as bevy entities that only `apply` changes.
//!
//! *Architecture invariant*: the bevy world never leaves this module mutably, so that what the log says is all that ever
//! happened. No observers, hooks or messages; no decision may depend on query order ([`Index`] is the order).

mod apply;
mod component;
mod history;
mod index;
mod ledger;
mod rebuild;
mod registry;
mod snapshot;
mod view;

use bevy_ecs::prelude::EntityRef;
use serde_json::Value;

pub use component::*;
pub use history::History;
pub use index::{Identity, Index};
pub use rebuild::{DigestFault, WorldDifference};
pub use registry::Registered;
pub(crate) use snapshot::SnapshotFault;
pub use view::{RUN, WorldView};

use crate::event::Event;
use crate::id::{Digest, StableId};
use ledger::Ledger;
use registry::{COMPONENTS, REGISTRY};

/// Permission to change a world. Only the kernel makes one.
#[derive(Debug)]
pub struct Token(());

impl Token {
    pub(crate) const fn new() -> Self {
        Self(())
    }
}

/// All of a run's state.
#[derive(Debug)]
pub struct World {
    ecs: bevy_ecs::world::World,
    ledger: Ledger,
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// The world before any event: the run's entity alone.
    pub fn new() -> Self {
        let mut world = Self::empty();
        world.put(RUN, Progress::default());
        world.put(RUN, Funnel::default());
        world
    }

    fn empty() -> Self {
        let mut ecs = bevy_ecs::world::World::new();
        ecs.insert_resource(Index::new());
        Self { ecs, ledger: Ledger::new() }
    }

    /// A read-only view.
    pub fn view(&self) -> WorldView<'_> {
        WorldView::new(&self.ecs)
    }

    /// Applies one event. Total: an event that makes no sense here changes what it can and nothing else.
    pub fn apply(&mut self, event: Event, _token: &Token) {
        apply::apply(self, event);
    }

    /// Digest of the whole world; hashes only what changed since the last call.
    pub fn digest(&mut self) -> Digest {
        let Self { ecs, ledger } = self;
        let index = ecs.resource::<Index>();
        ledger.settle(|id| index.get(id).and_then(|entity| ecs.get_entity(entity).ok()))
    }

    /// Everything as JSON: `{component: {id: value}}`, for people and comparisons.
    pub fn to_json(&self) -> Value {
        let components = REGISTRY.iter().map(|registration| {
            let entries = self
                .entities()
                .filter_map(|(id, entity)| Some((id.to_string(), (registration.json)(entity)?)));
            (registration.name.to_owned(), Value::Object(entries.collect()))
        });
        Value::Object(components.collect())
    }

    /// The bevy world, for running systems. Shared: nobody may change it.
    pub(crate) fn ecs(&self) -> &bevy_ecs::world::World {
        &self.ecs
    }

    /// The bevy world, for installing capabilities and initialising systems, which touches no component.
    pub(crate) fn ecs_mut(&mut self) -> &mut bevy_ecs::world::World {
        &mut self.ecs
    }

    fn entities(&self) -> impl Iterator<Item = (StableId, EntityRef<'_>)> {
        let ecs = &self.ecs;
        ecs.resource::<Index>()
            .iter()
            .filter_map(move |(id, entity)| Some((id, ecs.get_entity(entity).ok()?)))
    }

    /// Inserts or replaces a component, making the entity where there is none.
    fn put<C: Registered>(&mut self, id: StableId, component: C) {
        let known = self.ecs.resource::<Index>().get(id);
        let entity = if let Some(entity) = known {
            self.ecs.entity_mut(entity).insert(component);
            entity
        } else {
            self.ecs.spawn((Identity(id), component)).id()
        };
        let mut index = self.ecs.resource_mut::<Index>();
        if known.is_none() {
            index.note_entity(id, entity);
        }
        index.note_component(C::SLOT, id, entity);
        self.ledger.touch(C::SLOT, id);
    }

    /// Changes a component where there is one.
    fn edit<C: Registered>(&mut self, id: StableId, change: impl FnOnce(&mut C)) {
        let Some(entity) = self.ecs.resource::<Index>().get(id) else { return };
        let Some(mut component) = self.ecs.get_mut::<C>(entity) else { return };
        change(&mut component);
        self.ledger.touch(C::SLOT, id);
    }

    /// Removes a component where there is one; the entity stays.
    fn remove<C: Registered>(&mut self, id: StableId) {
        let Some(entity) = self.ecs.resource::<Index>().get(id) else { return };
        if self.ecs.entity_mut(entity).take::<C>().is_none() {
            return;
        }
        self.ecs.resource_mut::<Index>().forget_component(C::SLOT, id);
        self.ledger.touch(C::SLOT, id);
    }

    fn get<C: Registered>(&self, id: StableId) -> Option<&C> {
        self.view().get(id)
    }
}
