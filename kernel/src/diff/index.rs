//! What a log comes to, step by step: chain hashes as committed, and a running hash of what happened.

use crate::event::Event;
use crate::id::Digest;
use crate::log::{Commit, Group};
use crate::run::{RunError, RunReader, events};

const FACTS_DOMAIN: &str = "tadpole 2026 running hash of facts v1";

/// A log's commits, and its decisions among them.
#[derive(Debug)]
pub(super) struct LogIndex {
    commits: Vec<Commit>,
    decisions: Vec<Decision>,
}

/// A step that decided something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision {
    pub(super) commit: Commit,
    /// Hash over everything that happened up to and with it.
    facts: Digest,
}

impl LogIndex {
    pub(super) fn read(reader: &RunReader) -> Result<Self, RunError> {
        let (mut commits, mut decisions) = (Vec::new(), Vec::new());
        let mut facts = Digest::default();
        for group in reader.groups()? {
            let group = group?;
            let commit = *group.commit();
            commits.push(commit);
            if !says_only_what_the_run_is(&group)? {
                facts = hash(facts, &group);
                decisions.push(Decision { commit, facts });
            }
        }
        Ok(Self { commits, decisions })
    }

    pub(super) fn last(&self) -> Option<&Commit> {
        self.commits.last()
    }

    pub(super) fn decisions(&self) -> usize {
        self.decisions.len()
    }

    pub(super) fn decision(&self, index: usize) -> Option<&Decision> {
        self.decisions.get(index)
    }

    /// Steps, from the first, whose chain hashes are equal.
    pub(super) fn same_steps(&self, other: &Self) -> usize {
        same(&self.commits, &other.commits, |commit| commit.chain)
    }

    /// Decisions, from the first, up to which the same things happened.
    pub(super) fn same_decisions(&self, other: &Self) -> usize {
        same(&self.decisions, &other.decisions, |decision| decision.facts)
    }
}

/// How many elements from the first agree in a running hash, by binary search: once it differs it differs for ever.
fn same<T>(left: &[T], right: &[T], hash: impl Fn(&T) -> Digest) -> usize {
    let pairs: Vec<(&T, &T)> = left.iter().zip(right).collect();
    pairs.partition_point(|(left, right)| hash(left) == hash(right))
}

fn says_only_what_the_run_is(group: &Group) -> Result<bool, RunError> {
    // Such a group has one event, so no other is decoded for this.
    if group.len() != 1 {
        return Ok(false);
    }
    let first = events(group).next().transpose()?;
    Ok(first.is_some_and(|(_, event): (_, Event)| event.is_identity()))
}

fn hash(before: Digest, group: &Group) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key(FACTS_DOMAIN);
    hasher.update(&before.0);
    for (schema, body) in group.bodies() {
        hasher.update(&schema.to_le_bytes());
        hasher.update(&(body.len() as u64).to_le_bytes());
        hasher.update(body);
    }
    Digest(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_finds_the_first_difference_wherever_it_lies() {
        let line = |length: usize, parts_at: usize| -> Vec<Digest> {
            (0..length).map(|at| Digest::of(&[at as u8, u8::from(at >= parts_at)])).collect()
        };
        for length in 0..9 {
            for other in 0..9 {
                for parts_at in 0..9 {
                    let found = same(&line(length, usize::MAX), &line(other, parts_at), |digest| *digest);
                    assert_eq!(found, parts_at.min(length).min(other));
                }
            }
        }
    }
}
