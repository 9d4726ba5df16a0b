//! Keyframes: whole worlds beside the log, so that any step is near one.
//!
//! A keyframe is derived and never believed: it counts only if the log holds the commit that it claims to follow, and if the
//! world it holds has the digest of that commit. One that is missing, damaged or foreign costs time, not truth: an older one
//! is taken, or the fold from the first step. So they are written without syncing, and may be deleted at any time.

mod file;

use std::io;
use std::path::Path;
use std::sync::Arc;

use file::Keyframe;
pub(crate) use file::name;

use crate::id::Step;
use crate::log::{Commit, Cursor, Group};
use crate::replay::{Replay, ReplayError};
use crate::storage::{Disk, Storage};
use crate::world::World;

/// Where keyframes lie.
pub(crate) const DIR: &str = "keyframes";

/// How far keyframes lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spacing {
    events: u64,
}

impl Default for Spacing {
    fn default() -> Self {
        Self::events(4096)
    }
}

impl Spacing {
    /// One wherever the number of events passes a multiple of `events` (at least 1), and one at the end of each segment.
    #[must_use]
    pub fn events(events: u64) -> Self {
        Self { events: events.max(1) }
    }

    /// Whether one is due after a commit. A function of the commit alone, so that interrupted runs get the same ones.
    pub fn is_due(self, commit: &Commit) -> bool {
        commit.seals || commit.first.0 / self.events != commit.next().0 / self.events
    }
}

/// Makes the keyframes of a run that has none (or lost some), folding its log once; `observe` sees every step.
///
/// # Errors
/// Where the log cannot be folded, or a keyframe cannot be written.
pub fn build(
    dir: impl AsRef<Path>,
    spacing: Spacing,
    mut observe: impl FnMut(&Commit),
) -> Result<u64, ReplayError> {
    let storage: Arc<dyn Storage> = Arc::new(Disk::new(dir.as_ref()));
    let mut replay = Replay::over(Arc::clone(&storage))?;
    let mut made = 0;
    while let Some(commit) = replay.step()? {
        if spacing.is_due(&commit)
            && let Some(group) = replay.group()
        {
            write(storage.as_ref(), group, replay.world())
                .map_err(|error| ReplayError::Keyframe { step: commit.step, error })?;
            made += 1;
        }
        observe(&commit);
    }
    Ok(made)
}

/// Writes the keyframe of `world`, which is as `group` left it.
fn write(storage: &dyn Storage, group: &Group, world: &World) -> io::Result<()> {
    write_at(storage, group.segment(), group.end(), group.commit(), world)
}

/// Writes the keyframe of `world`, which is as `commit` left it; the commit ends at byte `end` of `segment`.
pub(crate) fn write_at(
    storage: &dyn Storage,
    segment: u32,
    end: u64,
    commit: &Commit,
    world: &World,
) -> io::Result<()> {
    storage.make_dir(DIR)?;
    let name = name(commit.step);
    let aside = format!("{name}.tmp");
    if storage.exists(&aside)? {
        storage.remove(&aside)?;
    }
    storage.create(&aside)?.write_all(&Keyframe { segment, end, commit: *commit }.to_bytes(world))?;
    storage.rename(&aside, &name)
}

/// The steps that keyframes are named after, ascending. What they hold is not looked at.
///
/// # Errors
/// Where the directory cannot be listed.
pub fn list(storage: &dyn Storage) -> io::Result<Vec<Step>> {
    let mut steps: Vec<Step> = storage.list(DIR)?.iter().filter_map(|name| file::step_of(name)).collect();
    steps.sort_unstable();
    Ok(steps)
}

/// The world of the last sound keyframe before `step`, with the log opened behind it.
pub(crate) fn before(storage: &Arc<dyn Storage>, step: Step) -> Option<(World, Cursor, Commit)> {
    let steps = list(storage.as_ref()).unwrap_or_else(|error| {
        tracing::debug!(%error, "the keyframes cannot be listed");
        Vec::new()
    });
    let mut earlier = steps.into_iter().rev().skip_while(|&at| at >= step);
    earlier.find_map(|at| load(storage, at))
}

fn load(storage: &Arc<dyn Storage>, step: Step) -> Option<(World, Cursor, Commit)> {
    let loaded = file::load(storage, step);
    loaded.map_err(|fault| tracing::warn!(%step, %fault, "a keyframe is passed over")).ok()
}
