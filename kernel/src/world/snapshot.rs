//! A whole world as bytes, and back: what a keyframe holds.
//!
//! For each component type in registry order: name, count, then (id, what is kept of the component) ascending by id; all
//! in canonical form. Entities, index and digests are not in it: they follow.

use super::component::Trajectory;
use super::index::Index;
use super::{REGISTRY, World};
use crate::canonical::{Malformed, Reader};
use crate::id::StableId;

/// Why bytes are no world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SnapshotFault {
    /// A component cannot be read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Made by a program with other components.
    #[error("component {found} stands where {expected} belongs")]
    Component {
        /// The component of this program.
        expected: &'static str,
        /// The one found.
        found: String,
    },
    /// There is more behind the last component.
    #[error("bytes are left over")]
    Surplus,
}

impl World {
    /// Appends the world to `out`.
    pub(crate) fn snapshot(&self, out: &mut Vec<u8>) {
        let index = self.ecs.resource::<Index>();
        for (slot, registration) in REGISTRY.iter().enumerate() {
            let entities = index.with_slot(slot);
            out.extend_from_slice(&(registration.name.len() as u64).to_le_bytes());
            out.extend_from_slice(registration.name.as_bytes());
            out.extend_from_slice(&(entities.len() as u64).to_le_bytes());
            for (&id, &entity) in entities {
                out.extend_from_slice(&id.0.to_le_bytes());
                if let Ok(entity) = self.ecs.get_entity(entity) {
                    (registration.keep)(entity, out);
                }
            }
        }
    }

    /// The world that `bytes` hold. Whether it is the right one, its digest tells.
    pub(crate) fn restored(bytes: &[u8]) -> Result<Self, SnapshotFault> {
        let mut world = Self::new();
        let mut reader = Reader::new(bytes);
        for registration in &REGISTRY {
            let found: String = reader.read()?;
            if found != registration.name {
                return Err(SnapshotFault::Component { expected: registration.name, found });
            }
            let count: u64 = reader.read()?;
            for _ in 0..count {
                let id: StableId = reader.read()?;
                (registration.restore)(&mut world, id, &mut reader)?;
            }
        }
        if !reader.is_at_end() {
            return Err(SnapshotFault::Surplus);
        }
        world.index_subjects();
        Ok(world)
    }

    /// Notes which trajectory was played on what, as their components say.
    pub(super) fn index_subjects(&mut self) {
        let played: Vec<_> = self.view().all::<Trajectory>().map(|(id, it)| (it.subject, id)).collect();
        let mut index = self.ecs.resource_mut::<Index>();
        for (subject, id) in played {
            index.note_played(subject, id);
        }
    }
}
