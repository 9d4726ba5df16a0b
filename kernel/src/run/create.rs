//! Making a run directory: put together beside its place, then renamed into it, so that it is there whole or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::SCENARIO;
use super::error::RunError;
use super::header::RunHeader;
use crate::draws::DrawCount;
use crate::id::{Digest, Sequence, Step};
use crate::log::{Position, Sealed, Tail, Writer, genesis};
use crate::storage::{Disk, Storage, sync_path, write_aside};
use crate::world::{Token, World};

/// Makes `dir` with the resolved scenario and `RunStarted` as step 0.
pub(crate) fn create(dir: &Path, scenario: &str, header: &RunHeader) -> Result<(), RunError> {
    if fs::symlink_metadata(dir).is_ok() {
        return Err(RunError::Exists(dir.to_path_buf()));
    }
    let (parent, staging) = staging(dir)?;
    fs::create_dir_all(&parent).map_err(RunError::io(&parent))?;
    fs::create_dir(&staging).map_err(RunError::io(&staging))?;
    let made = fill(&staging, scenario, header).and_then(|()| put(&staging, dir, &parent));
    if made.is_err()
        && let Err(error) = fs::remove_dir_all(&staging)
    {
        tracing::debug!(%error, "what was put together for the run was not removed");
    }
    made
}

pub(crate) fn staging(dir: &Path) -> Result<(PathBuf, PathBuf), RunError> {
    let name = dir.file_name().ok_or_else(|| RunError::NotARun(dir.to_path_buf()))?;
    let parent = match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let staging = parent.join(format!(".{}.{}.new", name.to_string_lossy(), std::process::id()));
    Ok((parent, staging))
}

fn fill(staging: &Path, scenario: &str, header: &RunHeader) -> Result<(), RunError> {
    let storage: Arc<dyn Storage> = Arc::new(Disk::new(staging));
    write_aside(storage.as_ref(), SCENARIO, scenario.as_bytes()).map_err(RunError::io(staging))?;
    let event = header.event();
    let body = event
        .encode()
        .map_err(|error| RunError::Io { path: staging.to_path_buf(), error: io::Error::other(error) })?;
    let mut world = World::new();
    world.apply(event.clone(), &Token::new());
    let world: Digest = world.digest();
    let run = header.run();
    let position = Position { step: Step(0), sequence: Sequence(0), chain: genesis(run) };
    let tail = Tail { segment: None, length: 0, sealed: true, torn: None };
    let mut writer = Writer::open(Arc::clone(&storage), run, position, &tail)?;
    let events = std::iter::once((event.schema(), body.as_slice()));
    writer.commit(events, world, DrawCount::default(), Sealed::No)?;
    storage.sync_dir("").map_err(RunError::io(staging))
}

/// A rename replaces nothing but an empty directory that appeared in between.
pub(crate) fn put(staging: &Path, dir: &Path, parent: &Path) -> Result<(), RunError> {
    match fs::rename(staging, dir) {
        Ok(()) => sync_path(parent).map_err(RunError::io(parent)),
        Err(error) if fs::symlink_metadata(dir).is_ok() => {
            tracing::debug!(%error, "the run directory appeared meanwhile");
            Err(RunError::Exists(dir.to_path_buf()))
        }
        Err(error) => Err(RunError::io(dir)(error)),
    }
}
