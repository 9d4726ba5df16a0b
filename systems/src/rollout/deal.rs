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
