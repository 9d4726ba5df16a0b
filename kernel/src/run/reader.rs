//! Reading a run: for the command line, reports and tests. Takes no lock and changes nothing; works while the run is
//! being written, and then ends with what is committed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::RunError;
use super::timing::{self, Timing};
use super::{Lineage, RunHeader, SCENARIO, scenario_of};
use crate::blob::{BlobReader, BlobStore};
use crate::draws::DrawCount;
use crate::event::Event;
use crate::id::{Digest, Sequence, Step};
use crate::log::{Commit, Cursor, Group, LogError, Tail};
use crate::storage::{Disk, Storage};

/// A run, open for reading.
#[derive(Clone, Debug)]
pub struct RunReader {
    dir: PathBuf,
    storage: Arc<dyn Storage>,
    lineage: Lineage,
}

/// A whole log in figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Committed groups.
    pub steps: u64,
    /// Events in them.
    pub events: u64,
    /// The last commit.
    pub last: Commit,
    /// Randomness used in all.
    pub draws: DrawCount,
    /// How the log ends.
    pub tail: Tail,
}

impl RunReader {
    /// Opens a run directory.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, RunError> {
        let dir = dir.as_ref();
        Self::over(dir, Arc::new(Disk::new(dir)))
    }

    pub(crate) fn over(dir: &Path, storage: Arc<dyn Storage>) -> Result<Self, RunError> {
        let (first, segments) = match Cursor::open(Arc::clone(&storage)) {
            Ok(mut cursor) => (cursor.next_group()?, cursor.segments()),
            Err(LogError::Empty) => return Err(RunError::NotARun(dir.to_path_buf())),
            Err(error) => return Err(error.into()),
        };
        let group = first.ok_or(LogError::Empty)?;
        match events(&group).next() {
            Some(Ok((_, Event::RunStarted(started)))) => {
                let lineage = Lineage::find(started, storage.as_ref(), segments)?;
                Ok(Self { dir: dir.to_path_buf(), storage, lineage })
            }
            Some(Err(error)) => Err(error),
            _ => Err(RunError::NotStarted),
        }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The run's id.
    pub fn run(&self) -> Digest {
        self.lineage.run()
    }

    /// Where it comes from.
    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// What it was started with, or goes on with since it was forked.
    pub fn header(&self) -> RunHeader {
        self.lineage.header()
    }

    /// Refuses a header other than the run was started with, or goes on with since it was forked.
    pub fn agrees(&self, given: &RunHeader) -> Result<(), RunError> {
        given.check(&self.lineage)
    }

    /// The resolved scenario, as TOML.
    pub fn scenario(&self) -> Result<String, RunError> {
        self.text(SCENARIO)
    }

    /// The resolved scenario of a run that this one descends from.
    pub fn scenario_of(&self, ancestor: Digest) -> Result<String, RunError> {
        self.text(&scenario_of(ancestor))
    }

    fn text(&self, name: &str) -> Result<String, RunError> {
        let io = || RunError::io(self.dir.join(name));
        let bytes = self.storage.read(name).map_err(io())?;
        String::from_utf8(bytes.to_vec()).map_err(|error| io()(std::io::Error::other(error)))
    }

    /// Committed groups, from the first; an iterator, one segment in memory at a time.
    pub fn groups(&self) -> Result<Cursor, RunError> {
        Ok(Cursor::open(Arc::clone(&self.storage))?)
    }

    /// The group of one step; `None` past the last.
    pub fn step(&self, step: Step) -> Result<Option<Group>, RunError> {
        for group in self.groups()? {
            let group = group?;
            if group.commit().step == step {
                return Ok(Some(group));
            }
        }
        Ok(None)
    }

    /// All events, with step and sequence, from the first.
    pub fn events(
        &self,
    ) -> Result<impl Iterator<Item = Result<(Commit, Sequence, Event), RunError>> + use<>, RunError> {
        let groups = self.groups()?;
        Ok(groups.flat_map(|group| match group {
            Ok(group) => {
                let commit = *group.commit();
                let decoded: Vec<_> = events(&group).collect();
                decoded.into_iter().map(|it| it.map(|(sequence, event)| (commit, sequence, event))).collect()
            }
            Err(error) => vec![Err(error.into())],
        }))
    }

    /// The event of one sequence, with the commit of its step; `None` past the last.
    pub fn event(&self, sequence: Sequence) -> Result<Option<(Commit, Event)>, RunError> {
        for group in self.groups()? {
            let group = group?;
            let commit = *group.commit();
            if (commit.first..commit.next()).contains(&sequence) {
                let found = events(&group).find(|it| it.as_ref().map_or(true, |(at, _)| *at == sequence));
                return found.map(|it| it.map(|(_, event)| (commit, event))).transpose();
            }
        }
        Ok(None)
    }

    /// The log in figures. Reads all of it, and so checks every checksum and the chain.
    pub fn totals(&self) -> Result<Totals, RunError> {
        let mut cursor = self.groups()?;
        let (mut steps, mut events, mut draws, mut last) = (0, 0, DrawCount::default(), None);
        while let Some(group) = cursor.next_group()? {
            let commit = *group.commit();
            steps += 1;
            events += u64::from(commit.count);
            draws.add(commit.draws);
            last = Some(commit);
        }
        let last = last.ok_or(LogError::Empty)?;
        Ok(Totals { steps, events, last, draws, tail: cursor.tail().clone() })
    }

    /// The blobs.
    pub fn blobs(&self) -> BlobReader {
        BlobReader::new(self.blob_store())
    }

    /// The blob store, for listing.
    pub fn blob_store(&self) -> BlobStore {
        BlobStore::new(Arc::clone(&self.storage))
    }

    /// What steps cost, as far as it was noted.
    pub fn timings(&self) -> Result<Vec<Timing>, RunError> {
        timing::read(self.storage.as_ref()).map_err(RunError::io(&self.dir))
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }
}

/// The events of a group with their sequences.
pub(crate) fn events(group: &Group) -> impl Iterator<Item = Result<(Sequence, Event), RunError>> + '_ {
    let &Commit { step, first, .. } = group.commit();
    group.events().zip(first.0..).map(move |(event, sequence)| {
        let sequence = Sequence(sequence);
        event.map(|event| (sequence, event)).map_err(|error| RunError::Event { step, sequence, error })
    })
}
