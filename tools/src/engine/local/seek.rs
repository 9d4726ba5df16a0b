//! The world at any step of a run.

use std::path::PathBuf;

use tadpole_kernel::id::Step;
use tadpole_kernel::replay::{Replay, ReplayError};
use tadpole_kernel::world::World;

/// Steps that are gone forward one by one rather than sought.
const NEAR: u64 = 16;

/// Moves through a run: a short way forward from where it stands, any other from the nearest keyframe.
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
        let near = |replay: &Replay| {
            replay.last().is_some_and(|last| last.step <= step && step.0 - last.step.0 <= NEAR)
        };
        let mut held = self.replay.take().filter(near);
        match held.as_mut().map(|replay| replay.to(step)) {
            // What is open ends where the log ended when it was opened; it may have grown.
            Some(Err(ReplayError::PastEnd { .. })) => held = None,
            Some(Err(error)) => return Err(error),
            Some(Ok(_)) | None => {}
        }
        let replay = match held {
            Some(replay) => replay,
            None => Replay::seek(&self.directory, step)?,
        };
        Ok(self.replay.insert(replay).world())
    }
}
