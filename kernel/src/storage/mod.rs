//! The medium under a run directory: the few operations whose order makes a run survive a crash.
//!
//! Names are relative to the run directory, with `/` between parts. A backend that fails or stops at a chosen operation
//! stands in for the disk in tests: [`faulty`].

pub mod faulty;
mod within;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rkyv::util::AlignedVec;

use crate::id::Digest;

pub use within::Within;

/// Bytes of a file, 16-aligned in memory, so that frames are read in place.
pub type Buffer = AlignedVec<16>;

/// Files by name.
pub trait Storage: Send + Sync + std::fmt::Debug {
    /// The whole content.
    fn read(&self, name: &str) -> io::Result<Buffer>;
    /// Whether there is a file or directory of this name.
    fn exists(&self, name: &str) -> io::Result<bool>;
    /// Names of what lies in directory `name`, sorted; empty where there is no such directory.
    fn list(&self, name: &str) -> io::Result<Vec<String>>;
    /// Makes a directory and those above it, durably.
    fn make_dir(&self, name: &str) -> io::Result<()>;
    /// Makes a file that must not exist yet.
    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>>;
    /// Opens a file to add to its end, making it where there is none.
    fn append(&self, name: &str) -> io::Result<Box<dyn StorageFile>>;
    /// Gives a file another name, replacing what has it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Cuts a file to `length` bytes, durably.
    fn truncate(&self, name: &str, length: u64) -> io::Result<()>;
    /// Writes the bytes of a file from `offset` on again, as they are, and makes them durable.
    fn overwrite(&self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes creation, renaming and removal within a directory durable.
    fn sync_dir(&self, name: &str) -> io::Result<()>;
}

/// A file being written.
pub trait StorageFile: Send + std::fmt::Debug {
    /// Adds `bytes` at the end.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes what was written durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// A directory on disk.
#[derive(Clone, Debug)]
pub struct Disk {
    root: PathBuf,
}

impl Disk {
    /// The directory `root`.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

/// Writes `bytes` under `name`: a temporary file beside it, made durable, then renamed. The directory is not synced.
pub(crate) fn write_aside(storage: &dyn Storage, name: &str, bytes: &[u8]) -> io::Result<()> {
    let aside = format!("{name}{ASIDE}");
    if storage.exists(&aside)? {
        storage.remove(&aside)?;
    }
    let written = || {
        let mut file = storage.create(&aside)?;
        file.write_all(bytes)?;
        file.sync()?;
        storage.rename(&aside, name)
    };
    written().inspect_err(|_| {
        // Half of it would only take up a medium that may be full. What stays all the same is swept when a run is opened.
        storage.remove(&aside).ok();
    })
}

/// Ends the names of files that are not whole yet.
const ASIDE: &str = ".tmp";

/// The directories within `dir` that hold files named by digest: those of its first two digits. What else is there is none
/// of ours.
pub(crate) fn shelves(storage: &dyn Storage, dir: &str) -> io::Result<Vec<String>> {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let mut names = storage.list(dir)?;
    names.retain(|name| name.len() == 2 && name.bytes().all(is_digit));
    Ok(names)
}

fn on_shelf(storage: &dyn Storage, dir: &str, shelf: &str) -> io::Result<Vec<String>> {
    let shelf = format!("{dir}/{shelf}");
    storage.list(&shelf).map_err(named(&shelf))
}

/// The failure, with the name of what it happened to in front.
pub(crate) fn named(name: &str) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{name}: {error}"))
}

/// What lies in `dir` by digest, ascending; only files that lie where the digest says.
pub(crate) fn list_shelved(storage: &dyn Storage, dir: &str) -> io::Result<BTreeSet<Digest>> {
    let mut found = BTreeSet::new();
    for shelf in shelves(storage, dir)? {
        for file in on_shelf(storage, dir, &shelf)? {
            let hex = format!("{shelf}{file}");
            found.extend(Digest::from_hex(&hex).filter(|digest| digest.to_hex() == hex));
        }
    }
    Ok(found)
}

/// Files that are not whole in the directories within `dir`, by name.
pub(crate) fn leftovers(storage: &dyn Storage, dir: &str) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for shelf in shelves(storage, dir)? {
        let files = on_shelf(storage, dir, &shelf)?.into_iter();
        found.extend(files.filter(|file| file.ends_with(ASIDE)).map(|file| format!("{dir}/{shelf}/{file}")));
    }
    Ok(found)
}

/// Removes files that are not whole from the directories within `dir`, and makes the rest durable: a file that was renamed
/// into place just before a process ended can be read, and so must last; and so must the directories on the way to it.
pub(crate) fn sweep_shelves(storage: &dyn Storage, dir: &str) -> io::Result<()> {
    for file in leftovers(storage, dir)? {
        storage.remove(&file)?;
    }
    for shelf in shelves(storage, dir)? {
        let shelf = format!("{dir}/{shelf}");
        storage.sync_dir(&shelf).map_err(named(&shelf))?;
    }
    if storage.exists(dir)? {
        storage.sync_dir(dir)?;
        storage.sync_dir("")?;
    }
    Ok(())
}

impl Storage for Disk {
    fn read(&self, name: &str) -> io::Result<Buffer> {
        let mut file = File::open(self.path(name))?;
        let expected = usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let mut buffer = Buffer::with_capacity(expected);
        buffer.resize(expected, 0);
        let mut filled = 0;
        while filled < expected {
            match file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        buffer.resize(filled, 0);
        Ok(buffer)
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        self.path(name).try_exists()
    }

    fn list(&self, name: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.path(name)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            // A name that is not UTF-8 is none of ours.
            names.extend(entry?.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn make_dir(&self, name: &str) -> io::Result<()> {
        let path = self.path(name);
        if path.is_dir() {
            return Ok(());
        }
        fs::create_dir_all(&path)?;
        path.ancestors().skip(1).take_while(|at| at.starts_with(&self.root)).try_for_each(sync_path)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let file = OpenOptions::new().write(true).create_new(true).open(self.path(name))?;
        Ok(Box::new(DiskFile(file)))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let file = OpenOptions::new().append(true).create(true).open(self.path(name))?;
        Ok(Box::new(DiskFile(file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn truncate(&self, name: &str, length: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.path(name))?;
        file.set_len(length)?;
        file.sync_all()
    }

    fn overwrite(&self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(self.path(name))?;
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    fn sync_dir(&self, name: &str) -> io::Result<()> {
        sync_path(&self.path(name))
    }
}

/// Makes names within a directory durable; the empty path is the current directory.
pub(crate) fn sync_path(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}

/// Makes the directory `path` and those above it, durably.
pub(crate) fn make_path(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> =
        path.ancestors().take_while(|at| !at.as_os_str().is_empty() && !at.exists()).collect();
    fs::create_dir_all(path)?;
    missing.into_iter().filter_map(Path::parent).try_for_each(sync_path)
}

#[derive(Debug)]
struct DiskFile(File);

impl StorageFile for DiskFile {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::faulty::{Fault, Machine};
    use super::*;

    #[test]
    fn what_cannot_be_written_whole_is_not_left_half() {
        for operation in 0..4 {
            let machine = Machine::new();
            machine.plan(operation, Fault::NoSpace);
            write_aside(&machine, "blob", b"more than there is room for").unwrap_err();
            assert!(machine.list("").unwrap().is_empty(), "operation {operation}");
        }
    }
}
