//! The machine: counts operations, fails at a chosen one, remembers the states it went through, loses power.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tree::{Kind, Tree};

/// What changes something, one system call each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Making one directory.
    MakeDir,
    /// Making a file.
    Create,
    /// Writing to a file.
    Write,
    /// Making a file durable.
    Sync,
    /// Renaming.
    Rename,
    /// Removing a file.
    Remove,
    /// Cutting a file.
    Truncate,
    /// Making a directory's names durable.
    SyncDir,
}

/// What goes wrong at an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The machine, or the process, stops before it. From then on every operation fails, until one of them starts again.
    Stop,
    /// It stops within it: half of a write is there; anything else is done, but nobody learns of it.
    StopHalfway,
    /// The medium is full: half of a write is there. It stays full until space is made.
    NoSpace,
    /// The medium fails at it, once. A sync drops what it should have written.
    Io,
}

/// What a power failure leaves of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// Nothing.
    Nothing,
    /// All of it.
    Everything,
    /// Any part of it, drawn from this seed.
    Something(u64),
}

/// A state that the machine was in, just before an operation or half-way through a write.
#[derive(Clone, Debug)]
pub struct Point {
    /// The operation.
    pub operation: Operation,
    /// On which file or directory.
    pub name: String,
    /// Whether half of the write was done.
    pub halfway: bool,
    tree: Tree,
}

/// The machine. Copies are the same machine; [`Machine::at`] makes another.
#[derive(Clone, Debug)]
pub struct Machine {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) tree: Tree,
    /// Counts starts: a file that was opened before the last one cannot be written.
    pub(super) starts: u64,
    operations: u64,
    reads: u64,
    planned: Option<(u64, Fault)>,
    planned_read: Option<u64>,
    stopped: bool,
    full: bool,
    points: Option<Vec<Point>>,
}

/// What becomes of an operation that does not fail at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Done,
    /// Half a write, or all of anything else; then this error.
    Half(io::ErrorKind),
    /// A sync that drops what it should have written.
    Dropped,
}

impl Default for Machine {
    fn default() -> Self {
        Self::over(Tree::new())
    }
}

impl Machine {
    /// A machine without files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A machine that is as another was at `point`.
    #[must_use]
    pub fn at(point: &Point) -> Self {
        Self::over(point.tree.clone())
    }

    /// Another machine that is as this one is now.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self::over(self.lock().tree.clone())
    }

    fn over(tree: Tree) -> Self {
        let state = State {
            tree,
            starts: 0,
            operations: 0,
            reads: 0,
            planned: None,
            planned_read: None,
            stopped: false,
            full: false,
            points: None,
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Plans what goes wrong at operation `after` from now; 0 is the next.
    pub fn plan(&self, after: u64, fault: Fault) {
        let mut state = self.lock();
        state.planned = Some((state.operations + after, fault));
    }

    /// Plans that reading fails, once, at read `after` from now; 0 is the next.
    pub fn plan_read(&self, after: u64) {
        let mut state = self.lock();
        state.planned_read = Some(state.reads + after);
    }

    /// Whether a planned fault has not come yet.
    pub fn is_pending(&self) -> bool {
        let state = self.lock();
        state.planned.is_some() || state.planned_read.is_some()
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// Remembers every state from now on.
    pub fn record(&self) {
        self.lock().points = Some(Vec::new());
    }

    /// The states remembered; none are from now on.
    pub fn take_points(&self) -> Vec<Point> {
        self.lock().points.take().unwrap_or_default()
    }

    /// The process ended and another starts: what it wrote is in the cache, and no more durable than it was.
    pub fn restart_process(&self) {
        let mut state = self.lock();
        state.starts += 1;
        (state.stopped, state.full, state.planned, state.planned_read) = (false, false, None, None);
    }

    /// The power failed and is back.
    pub fn power_cycle(&self, survival: Survival) {
        self.lock().tree.power_cycle(survival);
        self.restart_process();
    }

    /// The files below directory `name` as processes see them, by their path from there.
    pub fn content(&self, name: &str) -> BTreeMap<String, Arc<Vec<u8>>> {
        self.lock().tree.content(name)
    }

    /// Puts a file there, durably, as no operation of a process.
    pub fn put(&self, name: &str, bytes: Vec<u8>) -> io::Result<()> {
        self.lock().tree.put(name, bytes)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic of a test while it holds the lock is that test's failure.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Counts an operation and says what becomes of it. `bytes` is what is written.
    pub(super) fn begin(&mut self, operation: Operation, name: &str, bytes: &[u8]) -> io::Result<Fate> {
        self.alive()?;
        self.remember(operation, name, bytes);
        let now = self.operations;
        self.operations += 1;
        let planned = self.planned.take_if(|(at, _)| *at == now).map(|(_, fault)| fault);
        let needs_space = matches!(operation, Operation::MakeDir | Operation::Create | Operation::Write);
        match planned {
            Some(Fault::Stop) => self.stop(),
            Some(Fault::StopHalfway) => {
                self.stopped = true;
                Ok(Fate::Half(STOPPED))
            }
            Some(Fault::NoSpace) => {
                self.full = true;
                no_space(operation)
            }
            Some(Fault::Io) if operation == Operation::Sync => Ok(Fate::Dropped),
            Some(Fault::Io) => Err(io::Error::other("input/output error")),
            None if self.full && needs_space => no_space(operation),
            None => Ok(Fate::Done),
        }
    }

    /// Counts a read.
    pub(super) fn begin_read(&mut self) -> io::Result<()> {
        self.alive()?;
        let now = self.reads;
        self.reads += 1;
        match self.planned_read.take_if(|at| *at == now) {
            Some(_) => Err(io::Error::other("input/output error")),
            None => Ok(()),
        }
    }

    fn alive(&self) -> io::Result<()> {
        if self.stopped { Err(io::Error::new(STOPPED, "the machine stopped")) } else { Ok(()) }
    }

    fn stop(&mut self) -> io::Result<Fate> {
        self.stopped = true;
        self.alive().map(|()| Fate::Done)
    }

    fn remember(&mut self, operation: Operation, name: &str, bytes: &[u8]) {
        let Some(points) = &mut self.points else { return };
        let point = |tree, halfway| Point { operation, name: name.to_owned(), halfway, tree };
        points.push(point(self.tree.clone(), false));
        if !bytes.is_empty()
            && let Some(node) = self.tree.find(name)
        {
            let mut tree = self.tree.clone();
            if let Ok(file) = tree.file_mut(node) {
                file.append(&bytes[..bytes.len() / 2]);
                points.push(point(tree, true));
            }
        }
    }

    /// Makes a directory where there is none.
    pub(super) fn make_dir(&mut self, name: &str) -> io::Result<()> {
        if self.tree.find(name).is_some() {
            return self.tree.directory(name).map(|_| ());
        }
        let fate = self.begin(Operation::MakeDir, name, &[])?;
        self.tree.add(name, Kind::Directory)?;
        fate.end()
    }
}

/// What a process is told that the machine took away.
const STOPPED: io::ErrorKind = io::ErrorKind::Other;

fn no_space(operation: Operation) -> io::Result<Fate> {
    match operation {
        Operation::Write => Ok(Fate::Half(io::ErrorKind::StorageFull)),
        _ => Err(io::ErrorKind::StorageFull.into()),
    }
}

impl Fate {
    /// How much of a write is done.
    pub(super) fn part(self, bytes: &[u8]) -> &[u8] {
        if self == Self::Done { bytes } else { &bytes[..bytes.len() / 2] }
    }

    /// What the process is told once the operation is done, as far as it is.
    pub(super) fn end(self) -> io::Result<()> {
        match self {
            Self::Done => Ok(()),
            Self::Half(kind) => Err(kind.into()),
            Self::Dropped => Err(io::Error::other("input/output error")),
        }
    }
}
