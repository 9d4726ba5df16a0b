//! How assignments are dealt out to lanes.

use std::sync::{Mutex, PoisonError};

use super::assignment::Assignment;

/// An assignment and its index.
pub(super) type Dealt<'a> = (usize, &'a Assignment);

/// Assignments, in runs that one lane plays together: the members of a group have much of their histories in common.
pub(super) struct Deal<'a> {
    /// The next one is the last.
    runs: Mutex<Vec<&'a [Dealt<'a>]>>,
}

impl<'a> Deal<'a> {
    /// Runs of at most `longest` assignments of one task, in order.
    pub(super) fn new(assignments: &'a [Dealt<'a>], longest: usize) -> Self {
        let groups = assignments.chunk_by(|(_, one), (_, next)| one.subject.id == next.subject.id);
        let mut runs: Vec<_> = groups.flat_map(|group| group.chunks(longest.max(1))).collect();
        runs.reverse();
        Self { runs: Mutex::new(runs) }
    }

    /// The next run, where it has at most `seats` assignments.
    pub(super) fn take(&self, seats: usize) -> Option<&'a [Dealt<'a>]> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.pop_if(|run| run.len() <= seats)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tadpole_kernel::event::Purpose;
    use tadpole_kernel::id::{Digest, Iteration, Member, StableId, Version, Visit};
    use tadpole_scenarios::repository::Tree;

    use super::*;
    use crate::subject::Subject;

    fn assignment(task: u32, member: u32) -> Assignment {
        let subject = Subject {
            id: StableId(task.into()),
            digest: Digest::default(),
            statement: String::new(),
            snapshot: Tree::new(),
            gold: Tree::new(),
            hidden: Tree::new(),
            fail_to_pass: Vec::new(),
            pass_to_pass: Vec::new(),
        };
        Assignment {
            subject: Arc::new(subject),
            purpose: Purpose::Rollout,
            iteration: Iteration(1),
            version: Version(0),
            visit: Visit(0),
            member: Member(member),
            temperature: 1.0,
        }
    }

    #[test]
    fn runs_are_of_one_task_and_are_dealt_in_order_to_those_who_have_the_seats() {
        let assignments: Vec<Assignment> = [(1, 5), (2, 2), (3, 1)]
            .iter()
            .flat_map(|&(task, of)| (0..of).map(move |it| assignment(task, it)))
            .collect();
        let dealt: Vec<Dealt<'_>> = assignments.iter().enumerate().collect();
        let deal = Deal::new(&dealt, 3);
        let take =
            |seats| deal.take(seats).map(|run| run.iter().map(|(index, _)| *index).collect::<Vec<_>>());
        assert_eq!(take(2), None, "the next run has three");
        assert_eq!(take(3), Some(vec![0, 1, 2]));
        assert_eq!(take(9), Some(vec![3, 4]));
        assert_eq!(take(1), None);
        assert_eq!(take(2), Some(vec![5, 6]));
        assert_eq!(take(1), Some(vec![7]));
        assert_eq!(take(9), None);
    }
}
