//! How assignments are dealt out to lanes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::assignment::Assignment;

/// An assignment and its index.
pub(super) type Dealt<'a> = (usize, &'a Assignment);

/// Assignments, in hands that one lane plays together: the members of a group have much of their histories in common.
pub(super) struct Deal<'a> {
    /// The next one is the last.
    hands: Mutex<Vec<&'a [Dealt<'a>]>>,
    lanes: usize,
}

impl<'a> Deal<'a> {
    /// Hands of at most `largest` assignments of one task, in order, for at most `lanes` lanes.
    pub(super) fn new(assignments: &'a [Dealt<'a>], largest: usize, lanes: usize) -> Self {
        let groups = assignments.chunk_by(|(_, one), (_, next)| one.subject.id == next.subject.id);
        let mut hands: Vec<_> = groups.flat_map(|group| group.chunks(largest.max(1))).collect();
        hands.reverse();
        let lanes = lanes.clamp(1, hands.len().max(1));
        Self { hands: Mutex::new(hands), lanes }
    }

    /// Lanes that have something to play.
    pub(super) fn lanes(&self) -> usize {
        self.lanes
    }

    /// The next hand, where it has at most `seats` assignments. A lane that is not idle leaves the last hands to those that are.
    pub(super) fn take(&self, seats: usize, idle: bool) -> Option<&'a [Dealt<'a>]> {
        let mut hands = self.hands();
        if !idle && hands.len() < self.lanes {
            return None;
        }
        hands.pop_if(|hand| hand.len() <= seats)
    }

    /// Nothing more is dealt.
    pub(super) fn end(&self) {
        self.hands().clear();
    }

    fn hands(&self) -> MutexGuard<'_, Vec<&'a [Dealt<'a>]>> {
        self.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::assignment::examples::assignment;

    fn assignments(groups: &[(u32, u32)]) -> Vec<Assignment> {
        groups.iter().flat_map(|&(task, of)| (0..of).map(move |member| assignment(task, member))).collect()
    }

    #[test]
    fn hands_are_of_one_task_and_are_dealt_in_order_to_those_who_have_the_seats() {
        let assignments = assignments(&[(1, 5), (2, 2), (3, 1)]);
        let dealt: Vec<Dealt<'_>> = assignments.iter().enumerate().collect();
        let deal = Deal::new(&dealt, 3, 1);
        let take = |seats| {
            let hand = deal.take(seats, false);
            hand.map(|hand| hand.iter().map(|(index, _)| *index).collect::<Vec<_>>())
        };
        assert_eq!(take(2), None, "the next hand has three");
        assert_eq!(take(3), Some(vec![0, 1, 2]));
        assert_eq!(take(9), Some(vec![3, 4]));
        assert_eq!(take(1), None);
        assert_eq!(take(2), Some(vec![5, 6]));
        assert_eq!(take(1), Some(vec![7]));
        assert_eq!(take(9), None);
    }

    #[test]
    fn the_last_hands_are_for_idle_lanes_and_there_is_no_lane_without_one() {
        let assignments = assignments(&[(1, 8), (2, 8), (3, 8)]);
        let dealt: Vec<Dealt<'_>> = assignments.iter().enumerate().collect();
        assert_eq!(Deal::new(&dealt, 8, 16).lanes(), 3);
        assert_eq!(Deal::new(&[], 8, 16).lanes(), 1);
        let deal = Deal::new(&dealt, 8, 2);
        assert!(deal.take(16, true).is_some() && deal.take(8, false).is_some());
        assert!(deal.take(8, false).is_none() && deal.take(16, true).is_some());
        deal.end();
        assert!(Deal::new(&dealt, 8, 2).take(16, true).is_some());
        assert!(deal.take(16, true).is_none());
    }
}
