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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::assignment::examples;
    use crate::subject::Subject;
    use tadpole_kernel::draws::DrawCount;
    use tadpole_kernel::event::{Exit, Facts, Grade, Purpose};
    use tadpole_kernel::id::{Iteration, StableId, Version, Visit};

    fn assignment(member: u32) -> Assignment {
        examples::assignment(7, member)
    }

    fn played(assignment: Assignment) -> Played {
        Played {
            assignment,
            segments: Vec::new(),
            exit: Exit::Final,
            facts: Facts { grade: Grade::Unresolved, ran_tests: false, tampered: false, leaked: false },
            raw_reward: 0.0,
            reward: 0.0,
            entropy: 0.0,
            tool_calls: 0,
            patch: Vec::new(),
            draws: DrawCount::default(),
        }
    }

    /// Weights, and a group of two that they played ahead.
    fn prepared() -> (Digest, Ahead) {
        let (weights, ahead) = (Digest::of(b"weights"), Ahead::default());
        let played = vec![played(assignment(0)), played(assignment(1))];
        let prepare = move || Ok::<_, ()>(Prepared { weights, played, effects: Vec::new() });
        assert_eq!(ahead.beside(Some(prepare), || "the update"), "the update");
        (weights, ahead)
    }

    #[test]
    fn what_was_played_ahead_is_handed_out_once() {
        let (weights, ahead) = prepared();
        let asked = [assignment(0), assignment(1)];
        assert_eq!(ahead.take(weights, &asked).unwrap().played.len(), 2);
        assert!(ahead.take(weights, &asked).is_none());
    }

    #[test]
    fn what_was_played_by_other_weights_is_not_handed_out() {
        let (_, ahead) = prepared();
        assert!(ahead.take(Digest::of(b"other weights"), &[assignment(0), assignment(1)]).is_none());
    }

    #[test]
    fn other_assignments_than_were_played_are_refused_whatever_they_differ_in() {
        let other = |change: fn(&mut Assignment)| {
            let mut other = assignment(1);
            change(&mut other);
            vec![assignment(0), other]
        };
        let of_another = |change: fn(&mut Subject)| {
            let mut other = assignment(1);
            change(Arc::make_mut(&mut other.subject));
            vec![assignment(0), other]
        };
        let requests = [
            vec![],
            vec![assignment(0)],
            vec![assignment(1), assignment(0)],
            vec![assignment(0), assignment(1), assignment(2)],
            of_another(|subject| subject.id = StableId(8)),
            of_another(|subject| subject.digest = Digest::of(b"another task")),
            other(|it| it.purpose = Purpose::Calibration),
            other(|it| it.iteration = Iteration(2)),
            other(|it| it.version = Version(4)),
            other(|it| it.visit = Visit(3)),
            other(|it| it.member = it.member.next()),
            other(|it| it.temperature = 0.5),
        ];
        for (index, request) in requests.iter().enumerate() {
            let (weights, ahead) = prepared();
            assert!(ahead.take(weights, request).is_none(), "request {index}");
        }
    }

    #[test]
    fn what_failed_ahead_is_not_prepared_and_hides_no_result() {
        let ahead = Ahead::default();
        assert_eq!(ahead.beside(Some(|| Err::<Prepared, _>("no sandbox")), || 5), 5);
        assert!(ahead.take(Digest::of(b"weights"), &[]).is_none());
    }
}
