//! Folding a log while noting what it claims.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::claims::Claims;
use crate::blob::Moments;
use crate::blob::retention::{superseded, unneeded};
use crate::event::Event;
use crate::id::Digest;
use crate::log::{Commit, Cursor, LogError};
use crate::replay::ReplayError;
use crate::run::{Lineage, RunError, events};
use crate::storage::Storage;
use crate::world::{Phase, Token, World};

/// A log being folded.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) cursor: Cursor,
    world: World,
    pub(super) claims: Claims,
    /// Which run it is so far; known once a step was taken.
    pub(super) lineage: Option<Lineage>,
    pub(super) last: Option<Commit>,
    pub(super) events: u64,
}

impl Walk {
    /// At the start of a log.
    pub(super) fn open(storage: &Arc<dyn Storage>) -> Result<Self, LogError> {
        Ok(Self::over(Cursor::open(Arc::clone(storage))?))
    }

    /// At the start of a log that may lack segments.
    pub(super) fn open_to_gap(storage: &Arc<dyn Storage>) -> Result<Self, LogError> {
        Ok(Self::over(Cursor::open_to_gap(Arc::clone(storage))?))
    }

    fn over(cursor: Cursor) -> Self {
        Self { cursor, world: World::new(), claims: Claims::default(), lineage: None, last: None, events: 0 }
    }

    /// The next commit, once its events are read and lead to the world that it recorded. After an error world and claims
    /// may hold parts of the group at fault.
    pub(super) fn step(&mut self) -> Result<Option<Commit>, ReplayError> {
        let Some(group) = self.cursor.next_group().map_err(RunError::from)? else { return Ok(None) };
        let commit = *group.commit();
        let token = Token::new();
        for event in events(&group) {
            let (_, event) = event?;
            match (&event, &mut self.lineage) {
                (Event::RunStarted(started), None) => self.lineage = Some(Lineage::new(started.clone())),
                (_, None) => return Err(RunError::NotStarted.into()),
                (Event::RunForked(fork), Some(lineage)) => lineage.add(fork.clone()),
                _ => {}
            }
            self.claims.add(commit.step, &event);
            self.world.apply(event, &token);
        }
        let recomputed = self.world.digest();
        if recomputed != commit.world {
            return Err(ReplayError::World { step: commit.step, recorded: commit.world, recomputed });
        }
        self.events += u64::from(commit.count);
        self.last = Some(commit);
        Ok(Some(commit))
    }

    /// Blobs that are named and that nothing needs any more.
    pub(super) fn unneeded(&self, moments: Moments) -> BTreeSet<Digest> {
        let mut unneeded = unneeded(&self.world.view(), moments);
        if moments == Moments::Kept {
            // What a fork found dropped by its parent it never had.
            let point = self.lineage.as_ref().and_then(Lineage::point);
            unneeded.retain(|digest| {
                let named = self.claims.blobs.get(digest);
                point.is_some_and(|point| named.is_some_and(|&step| step <= point.step))
            });
        }
        unneeded
    }

    /// Blobs that a run drops by itself when an iteration ends.
    pub(super) fn superseded(&self) -> BTreeSet<Digest> {
        superseded(&self.world.view())
    }

    /// Whether the run is over.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.world.view().progress().phase, Phase::Finished | Phase::Refused)
    }
}
