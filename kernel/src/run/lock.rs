//! One writer a run.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

use super::error::RunError;

/// The lock on a run directory; emptied and released when dropped. The system releases it when a process dies.
///
/// Released in so many words, never by closing the file: a child that some other thread is starting holds a copy of the
/// file from fork to exec, and the lock would live as long as the copy.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    pub(crate) fn take(dir: &Path) -> Result<Self, RunError> {
        let path = dir.join("LOCK");
        let io = RunError::io(&path);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = match opened {
            Ok(file) => file,
            Err(error) => return Err(io(error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(dir, &mut file)),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let mut lock = Self { file };
        lock.name_holder().map_err(io)?;
        Ok(lock)
    }

    fn name_holder(&mut self) -> std::io::Result<()> {
        self.file.set_len(0)?;
        writeln!(self.file, "process {}", std::process::id())
    }
}

/// Whether a process writes to the run. Changes nothing; a writer that starts at this very moment may be refused.
pub(crate) fn is_held(dir: &Path) -> bool {
    refuse_held(dir).is_err()
}

/// Refuses a run that a process writes to, as taking the lock would; changes nothing.
pub(crate) fn refuse_held(dir: &Path) -> Result<(), RunError> {
    let Ok(mut file) = File::open(dir.join("LOCK")) else { return Ok(()) };
    match file.try_lock_shared() {
        Ok(()) => release(&file),
        Err(TryLockError::WouldBlock) => return Err(held(dir, &mut file)),
        // A medium without locks has no writer either: none could have started.
        Err(TryLockError::Error(_)) => {}
    }
    Ok(())
}

fn release(file: &File) {
    if let Err(error) = file.unlock() {
        tracing::debug!(%error, "the lock is left to the closing of its file");
    }
}

fn held(dir: &Path, file: &mut File) -> RunError {
    let mut holder = String::new();
    // The holder may be writing its name just now; then it stays unnamed.
    let read = file.read_to_string(&mut holder);
    let holder = match read {
        Ok(_) if !holder.trim().is_empty() => holder.trim().to_owned(),
        _ => "another process".to_owned(),
    };
    RunError::Locked { dir: dir.to_path_buf(), holder }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Err(error) = self.file.set_len(0) {
            tracing::debug!(%error, "the lock file was not emptied");
        }
        release(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_is_being_started_does_not_keep_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let lock = Lock::take(dir.path()).unwrap();
        let copy_of_the_child = lock.file.try_clone().unwrap();
        assert!(is_held(dir.path()));
        drop(lock);
        assert!(!is_held(dir.path()));
        drop(Lock::take(dir.path()).unwrap());
        drop(copy_of_the_child);
    }
}
