//! The world at any step of a run.

use std::path::PathBuf;

use tadpole_kernel::id::Step;
use tadpole_kernel::replay::{Replay, ReplayError};
use tadpole_kernel::world::World;

/// Moves through a run: forward from where it stands, backward from the first step.
///
/// This is the one place that knows how a step is reached.
pub(super) struct Seeker {
    directory: PathBuf,
    replay: Option<Replay>,
}

impl Seeker {
    /// At the start of the run in `directory`.
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory, replay: None }
    }

    /// The world after `step`.
    pub(super) fn world_at(&mut self, step: Step) -> Result<&World, ReplayError> {
        let held = self.replay.take();
        // A log that grew is read anew: what is open ends where the log ended.
        let held = held.filter(|replay| replay.last().is_some_and(|last| last.step <= step));
        let mut replay = match held {
            Some(replay) => replay,
            None => Replay::open(&self.directory)?,
        };
        match replay.to(step) {
            Err(ReplayError::PastEnd { .. }) => {
                replay = Replay::open(&self.directory)?;
                replay.to(step)?;
            }
            other => _ = other?,
        }
        Ok(self.replay.insert(replay).world())
    }
}
