//! Rebuilding a world from its own components, and comparing worlds: how tests show that nothing but components counts.

use bevy_ecs::prelude::Component;
use serde_json::Value;

use super::index::{Identity, Index};
use super::{COMPONENTS, REGISTRY, World};
use crate::draws::Stream;
use crate::id::StableId;

/// A term of the world digest that is not what its component says: a component was changed without being touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the kept digest of {component} on {id} differs from its bytes")]
pub struct DigestFault {
    /// Component type.
    pub component: &'static str,
    /// Whose.
    pub id: StableId,
}

/// The first component in which two worlds differ.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldDifference {
    /// Component type.
    pub component: &'static str,
    /// Whose.
    pub id: StableId,
    /// In the one world; `None` where it has no such component.
    pub left: Option<Value>,
    /// In the other.
    pub right: Option<Value>,
}

impl World {
    /// The same world in new entities, spawned in the order that `order` draws. Equal in digest and in every decision.
    /// Capabilities are not carried over.
    #[must_use]
    pub fn rebuilt(&self, order: &mut Stream) -> Self {
        let mut fresh = Self::empty();
        let mut entities: Vec<_> = self.entities().collect();
        order.shuffle(&mut entities);
        for (id, source) in entities {
            let mut slots: Vec<usize> = (0..COMPONENTS).collect();
            order.shuffle(&mut slots);
            let mut target = fresh.ecs.spawn(Identity(id));
            slots.retain(|&slot| (REGISTRY[slot].copy)(source, &mut target));
            let entity = target.id();
            let mut index = fresh.ecs.resource_mut::<Index>();
            index.note_entity(id, entity);
            for slot in slots {
                index.note_component(slot, id, entity);
                fresh.ledger.touch(slot, id);
            }
        }
        fresh.index_subjects();
        fresh
    }

    /// Recomputes every digest from scratch and compares it with the one kept.
    pub fn audit(&mut self) -> Result<(), DigestFault> {
        self.digest();
        let Self { ecs, ledger } = self;
        let entities = ecs.resource::<Index>().iter();
        let entities = entities.filter_map(|(id, entity)| Some((id, entity, ecs.get_entity(entity).ok()?)));
        match ledger.audit(entities) {
            None => Ok(()),
            Some((component, id)) => Err(DigestFault { component, id }),
        }
    }

    /// The first difference to `other`, in registry order and ascending by id.
    pub fn difference(&self, other: &Self) -> Option<WorldDifference> {
        let mut ids: Vec<StableId> = self.entities().chain(other.entities()).map(|(id, _)| id).collect();
        ids.sort_unstable();
        ids.dedup();
        for registration in &REGISTRY {
            for &id in &ids {
                let value = |world: &Self| {
                    let entity = world.ecs.resource::<Index>().get(id)?;
                    (registration.json)(world.ecs.get_entity(entity).ok()?)
                };
                let (left, right) = (value(self), value(other));
                if left != right {
                    return Some(WorldDifference { component: registration.name, id, left, right });
                }
            }
        }
        None
    }
}

/// `Identity` is deliberately unregistered: it is the key of every term, not part of one.
const _: fn() = || {
    fn component<C: Component>() {}
    component::<Identity>();
};
