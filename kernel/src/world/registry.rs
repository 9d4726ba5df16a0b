//! Registration of components: one line each gives digest, keyframe, dump, comparison and copy.
//!
//! The world stores only what is [`Registered`], so a component that is missing here does not compile where it is used.

use bevy_ecs::prelude::{Component, EntityRef, EntityWorldMut};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::World;
use super::component::{Candidate, Content, Evaluation, Funnel, Policy, Progress, Task, Trajectory, Update};
use super::history::History;
use crate::canonical::{self, Malformed, Reader};
use crate::event::Segment;
use crate::id::StableId;

/// A component of the world: digested, kept in keyframes, dumped and compared.
pub trait Registered:
    Component<Mutability = bevy_ecs::component::Mutable> + Clone + Serialize + DeserializeOwned
{
    /// Its place in the registry.
    const SLOT: usize;
    /// Its name in digests, keyframes, dumps and reports.
    const NAME: &'static str;
    /// What a keyframe holds of it, and reads it back from: itself, unless its canonical bytes are a mere digest.
    type Kept: Serialize + ?Sized;

    /// What a keyframe holds of it.
    fn kept(&self) -> &Self::Kept;
}

/// What the kernel does with a component whose type it has forgotten.
pub(super) struct Registration {
    pub(super) name: &'static str,
    /// Appends the component's canonical bytes; `false` if the entity has none.
    pub(super) canonical: fn(EntityRef<'_>, &mut Vec<u8>) -> bool,
    /// Appends what a keyframe holds of it.
    pub(super) keep: fn(EntityRef<'_>, &mut Vec<u8>),
    /// Reads what a keyframe holds, and puts the component on an entity.
    pub(super) restore: fn(&mut World, StableId, &mut Reader<'_>) -> Result<(), Malformed>,
    pub(super) json: fn(EntityRef<'_>) -> Option<Value>,
    pub(super) copy: fn(EntityRef<'_>, &mut EntityWorldMut<'_>) -> bool,
}

impl Registration {
    const fn of<C: Registered>() -> Self {
        Self {
            name: C::NAME,
            canonical: canonical::<C>,
            keep: keep::<C>,
            restore: restore::<C>,
            json: json::<C>,
            copy: copy::<C>,
        }
    }
}

fn canonical<C: Registered>(entity: EntityRef<'_>, out: &mut Vec<u8>) -> bool {
    let Some(component) = entity.get::<C>() else { return false };
    if let Err(error) = canonical::write(component, out) {
        // Unreachable for derived implementations; kept total by digesting the refusal itself.
        out.extend_from_slice(error.to_string().as_bytes());
    }
    true
}

fn keep<C: Registered>(entity: EntityRef<'_>, out: &mut Vec<u8>) {
    let Some(component) = entity.get::<C>() else { return };
    if let Err(error) = canonical::write(component.kept(), out) {
        // As above; what is then kept is no component, and the keyframe is passed over.
        out.extend_from_slice(error.to_string().as_bytes());
    }
}

fn restore<C: Registered>(world: &mut World, id: StableId, reader: &mut Reader<'_>) -> Result<(), Malformed> {
    world.put(id, reader.read::<C>()?);
    Ok(())
}

fn json<C: Registered>(entity: EntityRef<'_>) -> Option<Value> {
    let component = entity.get::<C>()?;
    Some(serde_json::to_value(component).unwrap_or_else(|error| Value::String(error.to_string())))
}

fn copy<C: Registered>(from: EntityRef<'_>, to: &mut EntityWorldMut<'_>) -> bool {
    let Some(component) = from.get::<C>() else { return false };
    to.insert(component.clone());
    true
}

macro_rules! register {
    ($($name:ident $(keeps $field:ident: $kept:ty)?),* $(,)?) => {
        enum Slot { $($name,)* }

        $(impl Registered for $name {
            const SLOT: usize = Slot::$name as usize;
            const NAME: &'static str = stringify!($name);
            register!(@kept $($field: $kept)?);
        })*

        /// How many components there are.
        pub(super) const COMPONENTS: usize = [$(stringify!($name)),*].len();

        pub(super) const REGISTRY: [Registration; COMPONENTS] = [$(Registration::of::<$name>()),*];
    };
    (@kept) => {
        type Kept = Self;

        fn kept(&self) -> &Self {
            self
        }
    };
    (@kept $field:ident: $kept:ty) => {
        type Kept = $kept;

        fn kept(&self) -> &$kept {
            &self.$field
        }
    };
}

register!(
    Progress,
    Funnel,
    Policy,
    Candidate,
    Content,
    Task,
    Trajectory,
    History keeps segments: [Segment],
    Evaluation,
    Update,
);
