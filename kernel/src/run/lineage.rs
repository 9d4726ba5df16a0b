//! Where a run comes from: what it was started with, and the forks on the way to it.

use super::error::RunError;
use super::header::RunHeader;
use super::reader::events;
use crate::event::{Event, RunForkedV1, RunStartedV1};
use crate::id::{Digest, Step};
use crate::log::{first_group, segment_header};
use crate::storage::Storage;

/// A place in a run from which another goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkPoint {
    /// The id of the run.
    pub parent: Digest,
    /// The last step that they share.
    pub step: Step,
    /// The chain hash of that step.
    pub chain: Digest,
}

/// What a run was started with, and every fork on the way to it, the first one first.
#[derive(Clone, Debug, PartialEq)]
pub struct Lineage {
    started: RunStartedV1,
    forks: Vec<RunForkedV1>,
}

impl Lineage {
    pub(crate) fn new(started: RunStartedV1) -> Self {
        Self { started, forks: Vec::new() }
    }

    pub(crate) fn add(&mut self, fork: RunForkedV1) {
        self.forks.push(fork);
    }

    /// Finds the forks in a log of `segments` segments that began with `started`, from its end: their segments are marked.
    pub(super) fn find(
        started: RunStartedV1,
        storage: &dyn Storage,
        segments: u32,
    ) -> Result<Self, RunError> {
        let mut lineage = Self::new(started);
        for index in (1..segments).rev() {
            let Some(header) = segment_header(storage, index)? else { continue };
            if header.run == lineage.started.run {
                break;
            }
            if header.forked_from.is_some()
                && let Some((_, group)) = first_group(storage, index)?
                && let Some(Ok((_, Event::RunForked(fork)))) = events(&group).next()
            {
                lineage.forks.push(fork);
            }
        }
        lineage.forks.reverse();
        Ok(lineage)
    }

    /// The run's id.
    pub fn run(&self) -> Digest {
        self.forks.last().map_or(self.started.run, |fork| fork.run)
    }

    /// What the first of its ancestors (or it itself) was started with.
    pub fn started(&self) -> &RunStartedV1 {
        &self.started
    }

    /// The forks, the first one first; the last one made this run.
    pub fn forks(&self) -> &[RunForkedV1] {
        &self.forks
    }

    /// Where it was forked from its parent; `None` where it has none.
    pub fn point(&self) -> Option<ForkPoint> {
        let &RunForkedV1 { parent, step, chain, .. } = self.forks.last()?;
        Some(ForkPoint { parent, step, chain })
    }

    /// What the run was started with, or goes on with since it was forked.
    pub fn header(&self) -> RunHeader {
        self.forks.last().map_or_else(|| RunHeader::of(&self.started), |fork| self.went_on(fork))
    }

    /// The runs on the way to it and it itself, the first one first: the id of each, and what it was started with or went on
    /// with.
    pub fn headers(&self) -> impl Iterator<Item = (Digest, RunHeader)> + '_ {
        let forks = self.forks.iter().map(|fork| (fork.run, self.went_on(fork)));
        std::iter::once((self.started.run, RunHeader::of(&self.started))).chain(forks)
    }

    fn went_on(&self, fork: &RunForkedV1) -> RunHeader {
        let &RunForkedV1 { scenario, arithmetic, iterations, .. } = fork;
        RunHeader { scenario, arithmetic, iterations, seed: self.started.seed }
    }

    /// The ids of the runs that it descends from, the first one first; it itself is not among them.
    pub fn ancestors(&self) -> impl Iterator<Item = Digest> + '_ {
        self.forks.iter().map(|fork| fork.parent)
    }
}
