//! Sharing files between two run directories: by hard link, or by copy where the medium has no links across.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::ForkError;
use crate::run::RunError;
use crate::storage::sync_path;

/// Fills one directory from another.
#[derive(Debug)]
pub(super) struct Share {
    from: PathBuf,
    to: PathBuf,
    directories: BTreeSet<PathBuf>,
    pub(super) linked: u64,
    pub(super) copied: u64,
}

impl Share {
    pub(super) fn new(from: &Path, to: &Path) -> Self {
        let directories = BTreeSet::from([to.to_path_buf()]);
        Self { from: from.to_path_buf(), to: to.to_path_buf(), directories, linked: 0, copied: 0 }
    }

    /// Shares a file that nobody changes in place.
    pub(super) fn file(&mut self, name: &str) -> Result<(), ForkError> {
        self.named(name, name).map_err(|error| self.failed(name, error))
    }

    /// The same for one that may be gone.
    pub(super) fn file_if_there(&mut self, name: &str) -> Result<(), ForkError> {
        match self.named(name, name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(name, error)),
            _ => Ok(()),
        }
    }

    /// Copies a file to another name: one that its owner might replace.
    pub(super) fn file_as(&mut self, name: &str, to: &str) -> Result<(), ForkError> {
        let copied = self.place(to).and_then(|target| copy(File::open(self.from.join(name))?, &target));
        copied.map_err(|error| self.failed(name, error))?;
        self.copied += 1;
        Ok(())
    }

    /// Copies the first `length` bytes of a file that may still grow.
    pub(super) fn start_of(&mut self, name: &str, length: u64) -> Result<(), ForkError> {
        let copied = self.place(name).and_then(|target| {
            let copied = copy(File::open(self.from.join(name))?.take(length), &target)?;
            if copied == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
        });
        copied.map_err(|error| self.failed(name, error))?;
        self.copied += 1;
        Ok(())
    }

    /// Writes a file of the child's own.
    pub(super) fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), ForkError> {
        let written = self.place(name).and_then(|target| copy(bytes, &target));
        written.map_err(RunError::io(self.to.join(name)))?;
        Ok(())
    }

    /// Makes every name durable.
    pub(super) fn sync_directories(&self) -> Result<(), ForkError> {
        for directory in &self.directories {
            sync_path(directory).map_err(RunError::io(directory))?;
        }
        Ok(())
    }

    fn named(&mut self, name: &str, to: &str) -> io::Result<()> {
        let source = self.from.join(name);
        if !source.try_exists()? {
            return Err(io::ErrorKind::NotFound.into());
        }
        let target = self.place(to)?;
        if let Err(error) = fs::hard_link(&source, &target) {
            tracing::debug!(%error, name, "copied, for it cannot be linked");
            copy(File::open(&source)?, &target)?;
            self.copied += 1;
        } else {
            self.linked += 1;
        }
        Ok(())
    }

    /// The path of `name` in the child, its directory made.
    fn place(&mut self, name: &str) -> io::Result<PathBuf> {
        let target = self.to.join(name);
        let mut at = target.parent();
        fs::create_dir_all(at.unwrap_or(&self.to))?;
        while let Some(directory) = at.filter(|directory| directory.starts_with(&self.to)) {
            self.directories.insert(directory.to_path_buf());
            at = directory.parent();
        }
        Ok(target)
    }

    fn failed(&self, name: &str, error: io::Error) -> ForkError {
        RunError::io(self.from.join(name))(error).into()
    }
}

/// Writes a new file, durably.
fn copy(mut from: impl Read, to: &Path) -> io::Result<u64> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(to)?;
    let copied = io::copy(&mut from, &mut file)?;
    file.flush()?;
    file.sync_all()?;
    Ok(copied)
}
