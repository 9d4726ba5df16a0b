//! Decisions of a run, served instead of made again: whoever asks what a medium does to a run need not pay for what the run
//! decides.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bevy_ecs::prelude::{Res, Resource};
use tadpole_kernel::decide::{DecideError, DecideResult, Decision, Systems};
use tadpole_kernel::driver::{Committed, Kernel, KernelError};
use tadpole_kernel::event::Event;
use tadpole_scenarios::schema::Scenario;
use tadpole_systems::phase;

/// What each step of a run decided.
#[derive(Clone, Debug, Default)]
pub struct Script {
    decisions: BTreeMap<u64, Decision>,
    systems: BTreeMap<u64, &'static str>,
}

impl Script {
    /// Takes the next step of a run and notes what it decided.
    ///
    /// # Panics
    /// Where the step fails.
    pub fn record(&mut self, kernel: &mut Kernel) -> Option<Committed> {
        let committed = kernel.step().unwrap()?;
        let Committed { system, events, commit } = &committed;
        let names = events.iter().flat_map(Event::blobs);
        let blobs = names.map(|digest| (digest, kernel.blobs().read(digest).unwrap().to_vec())).collect();
        let decision = Decision { events: events.clone(), blobs, draws: commit.draws };
        self.decisions.insert(commit.step.0, decision);
        self.systems.insert(commit.step.0, *system);
        Some(committed)
    }

    /// Systems that decide what was decided. Which of them is next is still decided by the world.
    #[must_use]
    pub fn systems(self: &Arc<Self>, scenario: &Scenario) -> (Systems, Stage) {
        let stage = Stage { script: Arc::clone(self), step: Arc::default() };
        let scenario = scenario.clone();
        let mut systems = Systems::new(move |view| phase::next(view, &scenario));
        for &name in self.systems.values() {
            systems.add(name, recite);
        }
        systems.provide(stage.clone());
        (systems, stage)
    }
}

/// Where in its script a run is.
#[derive(Resource, Clone, Debug)]
pub struct Stage {
    script: Arc<Script>,
    step: Arc<AtomicU64>,
}

impl Stage {
    /// Takes the next step of a run whose systems recite.
    pub fn step(&self, kernel: &mut Kernel) -> Result<Option<Committed>, KernelError> {
        let next = kernel.next_step().0;
        self.step.store(next, Ordering::SeqCst);
        let asked = kernel.next_system();
        assert_eq!(asked, self.script.systems.get(&next).copied(), "step {next} is for another system");
        kernel.step()
    }
}

fn recite(stage: Res<Stage>) -> DecideResult {
    let step = stage.step.load(Ordering::SeqCst);
    let decision = stage.script.decisions.get(&step).cloned();
    decision.ok_or_else(|| DecideError::new(format!("nothing was recorded of step {step}")))
}
