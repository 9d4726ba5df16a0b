//! A disk that stops at a chosen operation, in the ways a machine stops; for tests. It never waits for the medium, so it is
//! fast.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::storage::{Buffer, Disk, Storage, StorageFile};

/// How the machine stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Before the operation. What a file holds beyond its last sync is lost if the operation was that sync.
    Before,
    /// Half-way: half of a write is there; any other operation is done, but nobody learns of it.
    Halfway,
}

#[derive(Debug)]
struct State {
    /// Operations until it stops.
    left: u64,
    stop: Stop,
    stopped: bool,
}

/// The disk.
#[derive(Clone, Debug)]
pub struct Faulty {
    disk: Disk,
    state: Arc<Mutex<State>>,
}

/// What becomes of an operation.
enum Fate {
    Done,
    Before,
    Halfway,
}

impl Faulty {
    /// Stops at operation `after` (0 is the first) of those that change something.
    #[must_use]
    pub fn new(dir: &Path, after: u64, stop: Stop) -> Self {
        let state = State { left: after, stop, stopped: false };
        Self { disk: Disk::new(dir), state: Arc::new(Mutex::new(state)) }
    }

    /// Never stops.
    #[must_use]
    pub fn sound(dir: &Path) -> Self {
        Self::new(dir, u64::MAX, Stop::Before)
    }

    /// Whether it stopped.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.state().stopped
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fate(&self) -> io::Result<Fate> {
        let mut state = self.state();
        if state.stopped {
            return Err(gone());
        }
        if state.left > 0 {
            state.left -= 1;
            return Ok(Fate::Done);
        }
        state.stopped = true;
        Ok(if state.stop == Stop::Before { Fate::Before } else { Fate::Halfway })
    }

    fn change<T>(&self, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.fate()? {
            Fate::Done => operation(),
            Fate::Before => Err(gone()),
            Fate::Halfway => {
                operation()?;
                Err(gone())
            }
        }
    }

    fn open(&self, name: &str, inner: Box<dyn StorageFile>) -> Box<dyn StorageFile> {
        let synced = self.disk.read(name).map_or(0, |bytes| bytes.len() as u64);
        Box::new(FaultyFile { storage: self.clone(), name: name.to_owned(), inner, synced, written: synced })
    }
}

fn gone() -> io::Error {
    io::Error::other("the machine stopped")
}

impl Storage for Faulty {
    fn read(&self, name: &str) -> io::Result<Buffer> {
        if self.stopped() { Err(gone()) } else { self.disk.read(name) }
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        if self.stopped() { Err(gone()) } else { self.disk.exists(name) }
    }

    fn list(&self, name: &str) -> io::Result<Vec<String>> {
        if self.stopped() { Err(gone()) } else { self.disk.list(name) }
    }

    fn make_dir(&self, name: &str) -> io::Result<()> {
        if self.disk.exists(name)? {
            return Ok(());
        }
        self.change(|| self.disk.make_dir(name))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let file = self.change(|| self.disk.create(name))?;
        Ok(self.open(name, file))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let file = self.change(|| self.disk.append(name))?;
        Ok(self.open(name, file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change(|| self.disk.rename(from, to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change(|| self.disk.remove(name))
    }

    fn truncate(&self, name: &str, length: u64) -> io::Result<()> {
        self.change(|| self.disk.truncate(name, length))
    }

    fn sync_dir(&self, _name: &str) -> io::Result<()> {
        self.change(|| Ok(()))
    }
}

#[derive(Debug)]
struct FaultyFile {
    storage: Faulty,
    name: String,
    inner: Box<dyn StorageFile>,
    synced: u64,
    written: u64,
}

impl StorageFile for FaultyFile {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.storage.fate()? {
            Fate::Done => {
                self.written += bytes.len() as u64;
                self.inner.write_all(bytes)
            }
            Fate::Before => Err(gone()),
            Fate::Halfway => {
                self.inner.write_all(&bytes[..bytes.len() / 2])?;
                Err(gone())
            }
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        match self.storage.fate()? {
            Fate::Done => {
                self.synced = self.written;
                Ok(())
            }
            Fate::Before => {
                self.storage.disk.truncate(&self.name, self.synced)?;
                Err(gone())
            }
            Fate::Halfway => Err(gone()),
        }
    }
}
