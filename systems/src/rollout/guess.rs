//! Token histories that episodes may turn out to have: what a log says of them, while it is verified.
//!
//! *Architecture invariant*: a guess is never believed. It says which tokens the policy may read before they are drawn; each
//! is drawn all the same, each tool is run, and what a guess says behind the first difference is not used.

use std::collections::BTreeMap;

use tadpole_kernel::decide::Proposal;
use tadpole_kernel::event::{Event, TrajectoryFinishedV1};
use tadpole_kernel::id::{Member, StableId, Visit};

use super::assignment::Assignment;

/// What tells the episodes of one decision apart.
type Place = (StableId, Visit, Member);

/// The guesses for the episodes of one decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Guesses {
    proposal: Proposal,
    /// Index of the event of each episode; of two that claim one place, the last.
    events: BTreeMap<Place, usize>,
}

/// A history that an episode may turn out to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guess {
    tokens: Vec<u32>,
    /// Positions of the tokens that were sampled, ascending.
    sampled: Vec<usize>,
}

/// Tokens of a guess that follow one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch<'a> {
    pub(super) tokens: &'a [u32],
    /// Places in them behind which a token was sampled, ascending.
    pub(super) wanted: Vec<usize>,
}

impl Guesses {
    /// Those that `proposal` has.
    pub(super) fn of(proposal: &Proposal) -> Self {
        let events = proposal.events().iter().enumerate();
        let events = events.filter_map(|(index, event)| match event {
            Event::TrajectoryFinished(it) => Some(((it.subject, it.visit, it.member), index)),
            _ => None,
        });
        Self { events: events.collect(), proposal: proposal.clone() }
    }

    /// The guess for an episode, where there is one that can be read.
    pub(super) fn about(&self, assignment: &Assignment) -> Option<Guess> {
        let place = (assignment.subject.id, assignment.visit, assignment.member);
        match self.proposal.events().get(*self.events.get(&place)?)? {
            Event::TrajectoryFinished(recorded) => Guess::read(recorded),
            _ => None,
        }
    }
}

impl Guess {
    fn read(recorded: &TrajectoryFinishedV1) -> Option<Self> {
        let [segment] = recorded.segments.as_slice() else { return None };
        let tokens = segment.tokens.unpack();
        let mut sampled = Vec::with_capacity(segment.log_probs.len());
        for span in &segment.sampled {
            let (start, end) = (span.start as usize, span.end as usize);
            let behind = sampled.last().map_or(1, |&last: &usize| last + 1);
            if start < behind || end < start || tokens.len() < end {
                return None;
            }
            sampled.extend(start..end);
        }
        Some(Self { tokens, sampled })
    }

    /// Whether the history begins like this.
    pub(super) fn begins(&self, history: &[u32]) -> bool {
        self.tokens.starts_with(history)
    }

    /// The next tokens to read from position `from` on, at most `most`; `None` where no sampled token follows.
    pub(super) fn stretch(&self, from: usize, most: usize) -> Option<Stretch<'_>> {
        let last = *self.sampled.last()?;
        let end = last.min(from.checked_add(most)?);
        if end <= from {
            return None;
        }
        let first = self.sampled.partition_point(|&position| position <= from);
        let wanted = self.sampled[first..].iter().map(|position| position - 1 - from);
        let wanted = wanted.take_while(|&place| place < end - from).collect();
        Some(Stretch { tokens: &self.tokens[from..end], wanted })
    }
}

impl Stretch<'_> {
    /// Its first token, and whether one was sampled behind it.
    pub(super) fn first_step(&self) -> (Option<u32>, bool) {
        (self.tokens.first().copied(), self.wanted.first() == Some(&0))
    }

    /// What both begin with.
    pub(super) fn common(&self, other: &Self) -> Self {
        let alike = self.tokens.iter().zip(other.tokens).take_while(|(one, other)| one == other).count();
        let mut pairs = self.wanted.iter().zip(&other.wanted);
        let parting = pairs.find(|(one, other)| one != other).map(|(&one, &other)| one.min(other));
        let shorter = self.wanted.len().min(other.wanted.len());
        let lone = [&self.wanted, &other.wanted].into_iter().find_map(|wanted| wanted.get(shorter).copied());
        let count = [parting, lone].into_iter().flatten().fold(alike, usize::min);
        let wanted = self.wanted.iter().copied().take_while(|&place| place < count).collect();
        Self { tokens: &self.tokens[..count], wanted }
    }
}

#[cfg(test)]
mod tests {
    use tadpole_kernel::event::{Segment, Span, Tokens};

    use super::*;

    fn guess(tokens: &[u32], sampled: &[(u32, u32)]) -> Option<Guess> {
        let spans = sampled.iter().map(|&(start, end)| Span { start, end }).collect();
        let tokens = Tokens::pack(tokens, 100);
        Guess::read(&recorded(vec![Segment { tokens, sampled: spans, log_probs: Vec::new() }]))
    }

    fn recorded(segments: Vec<Segment>) -> TrajectoryFinishedV1 {
        use tadpole_kernel::event::{Bulk, Exit, Facts, Grade, Purpose};
        use tadpole_kernel::id::{Iteration, Version};
        TrajectoryFinishedV1 {
            trajectory: StableId(1),
            subject: StableId(2),
            purpose: Purpose::Rollout,
            iteration: Iteration(1),
            version: Version(0),
            visit: Visit(0),
            member: Member(0),
            segments,
            exit: Exit::Final,
            facts: Facts { grade: Grade::Resolved, ran_tests: false, tampered: false, leaked: false },
            raw_reward: 1.0,
            reward: 1.0,
            entropy: 0.0,
            tool_calls: 0,
            patch: Bulk::Inline(Vec::new()),
        }
    }

    fn stretch<'a>(tokens: &'a [u32], wanted: &[usize]) -> Stretch<'a> {
        Stretch { tokens, wanted: wanted.to_vec() }
    }

    #[test]
    fn what_stretches_begin_with_ends_where_tokens_or_samples_differ() {
        let one = stretch(&[1, 2, 3, 4, 5], &[0, 3]);
        for (other, common) in [
            (one.clone(), one.clone()),
            (stretch(&[1, 2, 9, 4, 5], &[0, 3]), stretch(&[1, 2], &[0])),
            (stretch(&[1, 2, 3], &[0]), stretch(&[1, 2, 3], &[0])),
            (stretch(&[1, 2, 3, 4, 5], &[0, 2]), stretch(&[1, 2], &[0])),
            (stretch(&[1, 2, 3, 4, 5], &[0]), stretch(&[1, 2, 3], &[0])),
            (stretch(&[1, 2, 3, 4, 5], &[0, 3, 4]), stretch(&[1, 2, 3, 4], &[0, 3])),
            (stretch(&[7, 2, 3, 4, 5], &[0, 3]), stretch(&[], &[])),
            (stretch(&[1, 2, 3, 4, 5], &[1, 3]), stretch(&[], &[])),
        ] {
            assert_eq!((one.common(&other), other.common(&one)), (common.clone(), common), "{other:?}");
        }
    }

    #[test]
    fn stretches_hold_every_token_but_those_behind_the_last_logits_and_want_a_row_for_every_sampled_one() {
        let guess = guess(&[10, 11, 12, 13, 14, 15, 16, 17], &[(2, 4), (6, 8)]).unwrap();
        assert_eq!(guess.stretch(1, 128), Some(stretch(&[11, 12, 13, 14, 15, 16], &[0, 1, 4, 5])));
        assert_eq!(guess.stretch(1, 3), Some(stretch(&[11, 12, 13], &[0, 1])));
        assert_eq!(guess.stretch(4, 3), Some(stretch(&[14, 15, 16], &[1, 2])));
        assert_eq!(guess.stretch(7, 3), None);
    }

    #[test]
    fn a_history_that_makes_no_sense_is_no_guess() {
        let tokens = [10, 11, 12, 13];
        for spans in [&[(0, 2)][..], &[(3, 2)], &[(2, 5)], &[(2, 3), (1, 4)], &[(u32::MAX, u32::MAX)]] {
            assert_eq!(guess(&tokens, spans), None, "{spans:?}");
        }
        assert_eq!(Guess::read(&recorded(Vec::new())), None);
        assert_eq!(guess(&tokens, &[]).unwrap().stretch(1, 128), None);
    }
}
