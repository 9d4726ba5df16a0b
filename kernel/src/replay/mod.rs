//! Replay: the fold of `apply` over the log, each commit's world digest checked.
//!
//! `Replay::seek` starts the fold from the nearest keyframe instead of the first step.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::event::{Event, RunStartedV1};
use crate::id::{Digest, Step};
use crate::keyframe;
use crate::log::{Commit, Cursor, Group};
use crate::run::{self, RunError};
use crate::storage::{Disk, Storage};
use crate::world::{Token, World};

/// Why a replay stopped.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The events lead to another world than the commit recorded.
    #[error("step {step}: the commit recorded world {recorded}, its events lead to {recomputed}")]
    World {
        /// The step.
        step: Step,
        /// What the commit says.
        recorded: Digest,
        /// What replay found.
        recomputed: Digest,
    },
    /// The log ends before the step asked for.
    #[error("there is no step {asked}: the run has {steps} steps")]
    PastEnd {
        /// The step asked for.
        asked: Step,
        /// How many there are.
        steps: u64,
    },
    /// A keyframe could not be written.
    #[error("the keyframe of step {step} cannot be written: {error}")]
    Keyframe {
        /// The step.
        step: Step,
        /// What failed.
        #[source]
        error: io::Error,
    },
}

/// A world growing along its log.
#[derive(Debug)]
pub struct Replay {
    cursor: Cursor,
    world: World,
    started: Option<RunStartedV1>,
    last: Option<Commit>,
    group: Option<Group>,
    keyframe: Option<Step>,
}

impl Replay {
    /// Opens a run directory at its start.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, ReplayError> {
        Self::over(Arc::new(Disk::new(dir.as_ref())))
    }

    pub(crate) fn over(storage: Arc<dyn Storage>) -> Result<Self, ReplayError> {
        let cursor = Cursor::open(storage).map_err(RunError::from)?;
        Ok(Self { cursor, world: World::new(), started: None, last: None, group: None, keyframe: None })
    }

    /// Opens a run directory and applies steps up to and with `step`, from the last sound keyframe before it on (from the
    /// first step where there is none). The log before the keyframe is not read: the keyframe's world is what its commit
    /// recorded, and everything behind is checked as ever.
    pub fn seek(dir: impl AsRef<Path>, step: Step) -> Result<Self, ReplayError> {
        Self::seek_over(&(Arc::new(Disk::new(dir.as_ref())) as Arc<dyn Storage>), step)
    }

    pub(crate) fn seek_over(storage: &Arc<dyn Storage>, step: Step) -> Result<Self, ReplayError> {
        let mut replay = match keyframe::before(storage, step) {
            None => Self::over(Arc::clone(storage))?,
            Some((world, cursor, commit)) => Self {
                cursor,
                world,
                started: None,
                last: Some(commit),
                group: None,
                keyframe: Some(commit.step),
            },
        };
        replay.to(step)?;
        Ok(replay)
    }

    /// Applies the next step; `None` at the end of what is committed.
    pub fn step(&mut self) -> Result<Option<Commit>, ReplayError> {
        let Some(group) = self.cursor.next_group().map_err(RunError::from)? else { return Ok(None) };
        let commit = *group.commit();
        let started = apply_group(&mut self.world, &group)?;
        if self.last.is_none() {
            self.started = Some(started.ok_or(RunError::NotStarted)?);
        }
        let recomputed = self.world.digest();
        if recomputed != commit.world {
            return Err(ReplayError::World { step: commit.step, recorded: commit.world, recomputed });
        }
        self.last = Some(commit);
        self.group = Some(group);
        Ok(Some(commit))
    }

    /// Applies steps up to and with `step`; returns its commit.
    pub fn to(&mut self, step: Step) -> Result<Commit, ReplayError> {
        loop {
            match self.last {
                Some(last) if last.step >= step => return Ok(last),
                _ => {}
            }
            if self.step()?.is_none() {
                return Err(ReplayError::PastEnd { asked: step, steps: self.cursor.position().step.0 });
            }
        }
    }

    /// Applies every step; returns the last commit.
    pub fn finish(&mut self) -> Result<Commit, ReplayError> {
        while self.step()?.is_some() {}
        Ok(self.last.ok_or(RunError::NotStarted)?)
    }

    /// The world as it is now.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The commit applied last.
    pub fn last(&self) -> Option<&Commit> {
        self.last.as_ref()
    }

    /// The group applied last. After `seek` and `step`, that of the step where the replay stands.
    pub fn group(&self) -> Option<&Group> {
        self.group.as_ref()
    }

    /// The step whose keyframe the replay began with; `None` where it began with the first step.
    pub fn keyframe(&self) -> Option<Step> {
        self.keyframe
    }

    pub(crate) fn into_parts(self) -> (World, Cursor, Option<RunStartedV1>) {
        (self.world, self.cursor, self.started)
    }
}

/// Applies a recorded group; returns its `RunStarted`, if it begins with one.
pub(crate) fn apply_group(world: &mut World, group: &Group) -> Result<Option<RunStartedV1>, RunError> {
    let token = Token::new();
    let mut started = None;
    for event in run::events(group) {
        let (_, event) = event?;
        if let Event::RunStarted(event) = &event {
            started = Some(event.clone());
        }
        world.apply(event, &token);
    }
    Ok(started)
}
