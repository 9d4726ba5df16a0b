//! What a fork shares with its parent.

use std::collections::BTreeSet;
use std::path::Path;

use super::ForkError;
use crate::blob::Moments;
use crate::blob::retention::unneeded;
use crate::event::Event;
use crate::id::{Digest, Step};
use crate::log::Commit;
use crate::replay::Replay;
use crate::run::{RunError, RunReader, events};
use crate::world::{World, WorldView};

/// A run up to one of its steps, folded and checked from the first.
#[derive(Debug)]
pub struct Prefix {
    pub(super) reader: RunReader,
    pub(super) world: World,
    pub(super) commit: Commit,
    /// The segment in which it ends, and the byte.
    pub(super) segment: u32,
    pub(super) end: u64,
    /// Blobs that its events name.
    pub(super) blobs: BTreeSet<Digest>,
    /// Requests whose answers it used.
    pub(super) answers: BTreeSet<Digest>,
    /// The last step that ended an iteration.
    boundary: Option<Step>,
}

impl Prefix {
    /// Folds the log of `parent` up to and with `step`; changes nothing, and works while the run is being written.
    pub fn read(parent: impl AsRef<Path>, step: Step) -> Result<Self, ForkError> {
        let reader = RunReader::open(parent)?;
        let mut replay = Replay::over(reader.storage().clone())?;
        let (mut blobs, mut answers, mut boundary) = (BTreeSet::new(), BTreeSet::new(), None);
        let mut place = (0, 0);
        let commit = loop {
            // Where the log ends before, this says so.
            let Some(commit) = replay.step()? else { break replay.to(step)? };
            let Some(group) = replay.group() else { continue };
            for event in events(group) {
                let (_, event) = event?;
                blobs.extend(event.blobs());
                if let Event::EffectRecorded(effect) = event {
                    answers.insert(effect.request);
                }
            }
            place = (group.segment(), group.end());
            boundary = if commit.seals { Some(commit.step) } else { boundary };
            if commit.step == step {
                break commit;
            }
        };
        let (world, ..) = replay.into_parts();
        let (segment, end) = place;
        Ok(Self { reader, world, commit, segment, end, blobs, answers, boundary })
    }

    /// The world at the step.
    pub fn view(&self) -> WorldView<'_> {
        self.world.view()
    }

    /// The last step, it itself or one before it, that ended an iteration.
    pub fn boundary(&self) -> Option<Step> {
        self.boundary
    }

    /// The run.
    pub fn reader(&self) -> &RunReader {
        &self.reader
    }

    /// Blobs that it names and can go on without.
    pub(super) fn dispensable(&self) -> BTreeSet<Digest> {
        unneeded(&self.world.view(), Moments::Carried)
    }

    /// Whatever the next decisions may read must still be there.
    pub(super) fn check_blobs(&self) -> Result<(), ForkError> {
        let store = self.reader.blob_store();
        for &digest in self.blobs.difference(&self.dispensable()) {
            let there = store
                .contains(digest)
                .map_err(|error| RunError::io(self.reader.dir())(std::io::Error::other(error)))?;
            if !there {
                let boundary = self.boundary.filter(|&at| at < self.commit.step);
                return Err(ForkError::Dropped { step: self.commit.step, digest, boundary });
            }
        }
        Ok(())
    }
}
