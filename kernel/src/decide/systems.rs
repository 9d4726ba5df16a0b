//! The table of systems.

use std::collections::BTreeMap;
use std::fmt;

use bevy_ecs::prelude::{IntoSystem, Resource};
use bevy_ecs::system::{BoxedReadOnlySystem, ReadOnlySystem};

use super::DecideResult;
use crate::world::WorldView;

/// Picks the next system by name; `None` when the run is over. A pure function of the world.
pub type Next = Box<dyn Fn(&WorldView<'_>) -> Option<&'static str> + Send + Sync>;

/// What becomes of blobs that a later commit supersedes: optimiser states, and weights that were never published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// They are deleted once their iteration is finished. What is dropped can be recomputed.
    #[default]
    Iterations,
    /// They are kept.
    All,
}

type Factory = Box<dyn Fn() -> BoxedReadOnlySystem<(), DecideResult> + Send + Sync>;
type Installer = Box<dyn Fn(&mut bevy_ecs::world::World) + Send + Sync>;

/// Systems by name, what picks among them, and the capabilities they read.
pub struct Systems {
    next: Next,
    keep: Keep,
    table: BTreeMap<&'static str, Factory>,
    capabilities: Vec<Installer>,
}

impl Systems {
    /// An empty table.
    #[must_use]
    pub fn new(next: impl Fn(&WorldView<'_>) -> Option<&'static str> + Send + Sync + 'static) -> Self {
        Self { next: Box::new(next), keep: Keep::default(), table: BTreeMap::new(), capabilities: Vec::new() }
    }

    /// Adds a system. That it cannot change the world is checked by the compiler:
    ///
    /// ```compile_fail
    /// # use tadpole_kernel::{decide::{DecideResult, Decision, Systems}, world::Candidate};
    /// # use bevy_ecs::prelude::Query;
    /// fn cheat(mut candidates: Query<&mut Candidate>) -> DecideResult {
    ///     Ok(Decision::new())
    /// }
    /// Systems::new(|_| None).add("cheat", cheat);
    /// ```
    ///
    /// A system is built anew for each decision, so that `Local` and `Changed` remember nothing. A second system of the
    /// same name replaces the first.
    pub fn add<M, S>(&mut self, name: &'static str, system: S) -> &mut Self
    where
        M: 'static,
        S: IntoSystem<(), DecideResult, M> + Clone + Send + Sync + 'static,
        S::System: ReadOnlySystem,
    {
        let factory: Factory = Box::new(move || Box::new(IntoSystem::into_system(system.clone())));
        self.table.insert(name, factory);
        self
    }

    /// Provides a capability (an engine, an executor, the scenario) that systems read with `Res<_>`. A handle: clones
    /// of it are put into each world that systems run over.
    pub fn provide<R: Resource + Clone>(&mut self, capability: R) -> &mut Self {
        self.capabilities.push(Box::new(move |world| world.insert_resource(capability.clone())));
        self
    }

    /// Sets what becomes of superseded blobs.
    pub fn keep(&mut self, keep: Keep) -> &mut Self {
        self.keep = keep;
        self
    }

    /// Names, ascending.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.table.keys().copied()
    }

    /// The system that decides next in the world of `view`.
    pub fn next(&self, view: &WorldView<'_>) -> Option<&'static str> {
        (self.next)(view)
    }

    pub(crate) fn keeps(&self) -> Keep {
        self.keep
    }

    pub(super) fn build(&self, name: &str) -> Option<BoxedReadOnlySystem<(), DecideResult>> {
        self.table.get(name).map(|factory| factory())
    }

    pub(super) fn install(&self, world: &mut bevy_ecs::world::World) {
        self.capabilities.iter().for_each(|install| install(world));
    }
}

impl fmt::Debug for Systems {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Systems")
            .field("names", &self.names().collect::<Vec<_>>())
            .field("keep", &self.keep)
            .field("capabilities", &self.capabilities.len())
            .finish_non_exhaustive()
    }
}
