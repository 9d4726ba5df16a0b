//! Diff: where two runs part, and in what.
//!
//! Two questions, each answered by binary search over running hashes. *How long are the logs the same bytes?* The chain
//! hashes of the commits say so. *How long did the same things happen?* Runs of different scenarios have different ids, and
//! so different bytes from the step on where they begin; what happened in them may go on being the same. For that each
//! log's events are hashed without frames and without the events that say what the run is.

mod difference;
mod index;

pub use difference::{Divergence, EventDifference, Field, StepSide, WorldField};
use index::LogIndex;

use crate::id::{Digest, Step};
use crate::replay::ReplayError;
use crate::run::{RunError, RunReader};

/// Two runs, compared.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Comparison {
    /// The one.
    pub left: Side,
    /// The other.
    pub right: Side,
    /// Steps, from the first, in which the logs are the same bytes.
    pub same_steps: u64,
    /// Decisions, from the first, in which the same things happened. The steps with which a run or a fork begins decide nothing.
    pub same_decisions: u64,
    /// The first decision in which something else happened; `None` where nothing did.
    pub divergence: Option<Divergence>,
}

/// One of the runs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Side {
    /// Its id.
    pub run: Digest,
    /// The ids of the runs that it descends from, and for each the last step shared with it.
    pub ancestors: Vec<Ancestor>,
    /// Steps in its log.
    pub steps: u64,
    /// Decisions among them.
    pub decisions: u64,
    /// Chain hash of the last.
    pub chain: Digest,
}

/// A run that another descends from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Ancestor {
    /// Its id.
    pub run: Digest,
    /// The last step that they share.
    pub step: Step,
}

impl Comparison {
    /// Whether the logs are the same bytes.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.left.chain == self.right.chain
    }
}

/// Compares two runs. Reads both logs with every check; a run that is being written is compared as far as it is committed.
///
/// # Errors
/// Where a log cannot be read or folded.
pub fn compare(left: &RunReader, right: &RunReader) -> Result<Comparison, ReplayError> {
    let (one, other) = (LogIndex::read(left)?, LogIndex::read(right)?);
    let same_decisions = one.same_decisions(&other);
    let divergence =
        Divergence::find(left, right, one.decision(same_decisions), other.decision(same_decisions))?;
    Ok(Comparison {
        left: side(left, &one)?,
        right: side(right, &other)?,
        same_steps: one.same_steps(&other) as u64,
        same_decisions: same_decisions as u64,
        divergence,
    })
}

fn side(reader: &RunReader, index: &LogIndex) -> Result<Side, RunError> {
    let last = index.last().ok_or(RunError::NotStarted)?;
    let forks = reader.lineage().forks().iter();
    Ok(Side {
        run: reader.run(),
        ancestors: forks.map(|fork| Ancestor { run: fork.parent, step: fork.step }).collect(),
        steps: last.step.next().0,
        decisions: index.decisions() as u64,
        chain: last.chain,
    })
}
