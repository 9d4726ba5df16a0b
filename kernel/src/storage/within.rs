//! A directory of a medium as a medium of its own.

use std::io;
use std::sync::Arc;

use super::{Buffer, Storage, StorageFile};

/// What lies in one directory of another medium.
#[derive(Clone, Debug)]
pub struct Within {
    outer: Arc<dyn Storage>,
    directory: String,
}

impl Within {
    /// The directory `directory` of `outer`.
    #[must_use]
    pub fn new(outer: Arc<dyn Storage>, directory: impl Into<String>) -> Self {
        Self { outer, directory: directory.into() }
    }

    fn name(&self, name: &str) -> String {
        if name.is_empty() { self.directory.clone() } else { format!("{}/{name}", self.directory) }
    }
}

impl Storage for Within {
    fn read(&self, name: &str) -> io::Result<Buffer> {
        self.outer.read(&self.name(name))
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        self.outer.exists(&self.name(name))
    }

    fn list(&self, name: &str) -> io::Result<Vec<String>> {
        self.outer.list(&self.name(name))
    }

    fn make_dir(&self, name: &str) -> io::Result<()> {
        self.outer.make_dir(&self.name(name))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        self.outer.create(&self.name(name))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        self.outer.append(&self.name(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.outer.rename(&self.name(from), &self.name(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.outer.remove(&self.name(name))
    }

    fn truncate(&self, name: &str, length: u64) -> io::Result<()> {
        self.outer.truncate(&self.name(name), length)
    }

    fn overwrite(&self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.outer.overwrite(&self.name(name), offset, bytes)
    }

    fn sync_dir(&self, name: &str) -> io::Result<()> {
        self.outer.sync_dir(&self.name(name))
    }
}
