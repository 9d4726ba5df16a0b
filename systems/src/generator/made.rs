//! A task as a generator hands it over.

use tadpole_kernel::decide::Decision;
use tadpole_kernel::draws::DrawCount;
use tadpole_kernel::event::{Origin, TaskContent};
use tadpole_kernel::id::{Digest, StableId};
use tadpole_scenarios::repository::Tree;

use crate::subject::Subject;

/// A task that nobody validated yet.
#[derive(Clone, Debug)]
pub struct Made {
    /// Where it lies in the generator's space.
    pub origin: Origin,
    /// Which of the draw's faults it is, from 0.
    pub attempt: u32,
    /// The problem statement.
    pub statement: String,
    /// The repository with the fault in it.
    pub snapshot: Tree,
    /// The files that the gold patch rewrites, as they are after it.
    pub gold: Tree,
    /// The hidden tests.
    pub hidden: Tree,
    /// Randomness drawn.
    pub draws: DrawCount,
}

impl Made {
    /// Digest over everything that a policy or a grader meets. The origin is no part of it: two draws that give the same
    /// task give one task.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut bytes = Vec::new();
        let trees = [&self.snapshot, &self.gold, &self.hidden].map(Tree::canonical_bytes);
        for part in [self.statement.as_bytes(), &trees[0], &trees[1], &trees[2]] {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        Digest::of(&bytes)
    }

    /// As a subject to validate, under an id that the log may never see.
    #[must_use]
    pub fn to_subject(&self, id: StableId) -> Subject {
        Subject {
            id,
            digest: self.digest(),
            statement: self.statement.clone(),
            snapshot: self.snapshot.clone(),
            gold: self.gold.clone(),
            hidden: self.hidden.clone(),
            fail_to_pass: Vec::new(),
            pass_to_pass: Vec::new(),
        }
    }

    /// As an event holds it; large trees go to the blobs of `decision`.
    pub fn into_content(self, decision: &mut Decision) -> TaskContent {
        TaskContent {
            digest: self.digest(),
            origin: self.origin,
            statement: self.statement,
            snapshot: decision.bulk(self.snapshot.canonical_bytes()),
            gold: decision.bulk(self.gold.canonical_bytes()),
            tests: decision.bulk(self.hidden.canonical_bytes()),
        }
    }
}
