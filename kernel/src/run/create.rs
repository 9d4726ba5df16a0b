//! Making a run directory: put together beside its place, then renamed into it, so that it is there whole or not at all.

use std::fs;
use std::io;
use std::path::Path;
use std::process;
use std::sync::Arc;

use super::SCENARIO;
use super::error::RunError;
use super::header::RunHeader;
use crate::draws::DrawCount;
use crate::id::{Digest, Sequence, Step};
use crate::log::{Position, Sealed, Tail, Writer, genesis};
use crate::storage::{Disk, Storage, Within, make_path, write_aside};
use crate::world::{Token, World};

/// Makes `dir` with the resolved scenario and `RunStarted` as step 0.
pub(crate) fn create(dir: &Path, scenario: &str, header: &RunHeader) -> Result<(), RunError> {
    if fs::symlink_metadata(dir).is_ok() {
        return Err(RunError::Exists(dir.to_path_buf()));
    }
    let name = dir.file_name().ok_or_else(|| RunError::NotARun(dir.to_path_buf()))?;
    let parent = match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    make_path(parent).map_err(RunError::io(parent))?;
    let medium: Arc<dyn Storage> = Arc::new(Disk::new(parent));
    // What appeared meanwhile is left as it is, too.
    let refused = |error| match fs::symlink_metadata(dir) {
        Ok(_) => RunError::Exists(dir.to_path_buf()),
        Err(_) => RunError::io(dir)(error),
    };
    let staged = Staged::make(&medium, &name.to_string_lossy()).map_err(refused)?;
    let made = fill(&staged.inner, scenario, header).and_then(|()| staged.put().map_err(refused));
    if made.is_err()
        && let Err(error) = fs::remove_dir_all(parent.join(&staged.aside))
    {
        tracing::debug!(%error, "what was put together for the run was not removed");
    }
    made
}

/// `create` on another medium than the disk, for fault injection: makes the run in its directory `name`.
pub fn create_on(
    medium: &Arc<dyn Storage>,
    name: &str,
    scenario: &str,
    header: &RunHeader,
) -> Result<(), RunError> {
    let staged = Staged::make(medium, name).map_err(RunError::io(name))?;
    fill(&staged.inner, scenario, header)?;
    staged.put().map_err(RunError::io(name))
}

/// A directory that is put together beside its place and then renamed into it.
#[derive(Debug)]
pub(crate) struct Staged {
    medium: Arc<dyn Storage>,
    /// What it will be called.
    pub(crate) name: String,
    /// What it is called until then.
    pub(crate) aside: String,
    /// What lies in it.
    pub(crate) inner: Arc<dyn Storage>,
}

impl Staged {
    /// Starts the directory `name` of `medium`. One of an earlier process is left alone.
    pub(crate) fn make(medium: &Arc<dyn Storage>, name: &str) -> io::Result<Self> {
        if medium.exists(name)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let mut aside = format!(".{name}.{}.new", process::id());
        while medium.exists(&aside)? {
            aside.insert(0, '.');
        }
        medium.make_dir(&aside)?;
        let inner: Arc<dyn Storage> = Arc::new(Within::new(Arc::clone(medium), aside.clone()));
        Ok(Self { medium: Arc::clone(medium), name: name.to_owned(), aside, inner })
    }

    /// Puts it in its place. Nothing is replaced but an empty directory that appeared in between.
    pub(crate) fn put(&self) -> io::Result<()> {
        self.inner.sync_dir("")?;
        self.medium.rename(&self.aside, &self.name)?;
        self.medium.sync_dir("")
    }
}

fn fill(storage: &Arc<dyn Storage>, scenario: &str, header: &RunHeader) -> Result<(), RunError> {
    write_aside(storage.as_ref(), SCENARIO, scenario.as_bytes()).map_err(RunError::io(SCENARIO))?;
    let event = header.event();
    let body = event.encode().map_err(|error| RunError::io(SCENARIO)(io::Error::other(error)))?;
    let mut world = World::new();
    world.apply(event.clone(), &Token::new());
    let world: Digest = world.digest();
    let run = header.run();
    let position = Position { step: Step(0), sequence: Sequence(0), chain: genesis(run) };
    let tail = Tail { segment: None, length: 0, sealed: true, torn: None };
    let mut writer = Writer::open(Arc::clone(storage), run, position, &tail)?;
    let events = std::iter::once((event.schema(), body.as_slice()));
    writer.commit(events, world, DrawCount::default(), Sealed::No)?;
    Ok(())
}
