//! Registration of components: one line each gives digest, dump, comparison and copy.
//!
//! The world stores only what is [`Registered`], so a component that is missing here does not compile where it is used.

use bevy_ecs::prelude::{Component, EntityRef, EntityWorldMut};
use serde::Serialize;
use serde_json::Value;

use super::component::{
    Candidate, Content, Evaluation, Funnel, History, Policy, Progress, Task, Trajectory, Update,
};
use crate::canonical;

/// A component of the world: digested, dumped and compared.
pub trait Registered: Component<Mutability = bevy_ecs::component::Mutable> + Clone + Serialize {
    /// Its place in the registry.
    const SLOT: usize;
    /// Its name in digests, dumps and reports.
    const NAME: &'static str;
}

/// What the kernel does with a component whose type it has forgotten.
pub(super) struct Registration {
    pub(super) name: &'static str,
    /// Appends the component's canonical bytes; `false` if the entity has none.
    pub(super) canonical: fn(EntityRef<'_>, &mut Vec<u8>) -> bool,
    pub(super) json: fn(EntityRef<'_>) -> Option<Value>,
    pub(super) copy: fn(EntityRef<'_>, &mut EntityWorldMut<'_>) -> bool,
}

impl Registration {
    const fn of<C: Registered>() -> Self {
        Self { name: C::NAME, canonical: canonical::<C>, json: json::<C>, copy: copy::<C> }
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
    ($($name:ident),* $(,)?) => {
        enum Slot { $($name,)* }

        $(impl Registered for $name {
            const SLOT: usize = Slot::$name as usize;
            const NAME: &'static str = stringify!($name);
        })*

        /// How many components there are.
        pub(super) const COMPONENTS: usize = [$(stringify!($name)),*].len();

        pub(super) const REGISTRY: [Registration; COMPONENTS] = [$(Registration::of::<$name>()),*];
    };
}

register!(Progress, Funnel, Policy, Candidate, Content, Task, Trajectory, History, Evaluation, Update);
