//! Episodes that are played before a decision asks for them, beside the update that comes first.
//!
//! *Invariant*: what was played ahead is handed to a decision only where it asks for the same assignments of the same policy. What an
//! episode becomes is a function of these, so nobody can tell when it was played.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bevy_ecs::prelude::Resource;
use tadpole_kernel::event::Event;
use tadpole_kernel::id::Digest;

use super::assignment::{Assignment, Played};

/// Episodes that were played ahead, until they are asked for.
#[derive(Resource, Clone, Default)]
pub struct Ahead(Arc<Mutex<Option<Prepared>>>);

/// Episodes, and what playing them rested on.
pub struct Prepared {
    /// Weights that played them.
    pub weights: Digest,
    /// In the order of their assignments.
    pub played: Vec<Played>,
    /// Effects that were recorded or served on the way.
    pub effects: Vec<Event>,
}

impl Prepared {
    fn is_of(&self, weights: Digest, assignments: &[Assignment]) -> bool {
        self.weights == weights
            && self
                .played
                .iter()
                .map(|it| it.assignment.place())
                .eq(assignments.iter().map(Assignment::place))
    }
}

impl Ahead {
    /// Does `work`, and meanwhile, where there is anything to prepare, that. What fails is not prepared; whoever asks for it will
    /// play it, and find out.
    pub fn beside<T, E>(
        &self,
        prepare: Option<impl FnOnce() -> Result<Prepared, E> + Send>,
        work: impl FnOnce() -> T,
    ) -> T {
        let Some(prepare) = prepare else { return work() };
        std::thread::scope(|scope| {
            let slot = &self.0;
            scope.spawn(move || {
                let prepared = prepare().ok();
                *locked(slot) = prepared;
            });
            work()
        })
    }

    /// What was played ahead, where it is this.
    #[must_use]
    pub fn take(&self, weights: Digest, assignments: &[Assignment]) -> Option<Prepared> {
        locked(&self.0).take().filter(|prepared| prepared.is_of(weights, assignments))
    }
}

fn locked(slot: &Mutex<Option<Prepared>>) -> MutexGuard<'_, Option<Prepared>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}
