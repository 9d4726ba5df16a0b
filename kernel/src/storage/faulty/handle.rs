//! The machine as a medium.

use std::io;

use super::directory::Node;
use super::machine::{Fate, Machine, Operation, State};
use super::tree::Kind;
use crate::storage::{Buffer, Storage, StorageFile};

impl Storage for Machine {
    fn read(&self, name: &str) -> io::Result<Buffer> {
        let mut state = self.lock();
        state.begin_read()?;
        let (_, file) = state.tree.file(name)?;
        let mut buffer = Buffer::with_capacity(file.bytes().len());
        buffer.extend_from_slice(file.bytes());
        Ok(buffer)
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        let mut state = self.lock();
        state.begin_read()?;
        Ok(state.tree.find(name).is_some())
    }

    fn list(&self, name: &str) -> io::Result<Vec<String>> {
        let mut state = self.lock();
        state.begin_read()?;
        match state.tree.directory(name) {
            Ok(directory) => Ok(directory.names().keys().cloned().collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn make_dir(&self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        if state.tree.directory(name).is_ok() {
            return Ok(());
        }
        let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
        for end in ends.clone() {
            state.make_dir(&name[..end])?;
        }
        let above: Vec<&str> =
            ends.map(|end| name[..end].rsplit_once('/').map_or("", |(above, _)| above)).collect();
        above.into_iter().rev().try_for_each(|directory| sync_dir(&mut state, directory))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let mut state = self.lock();
        let fate = state.begin(Operation::Create, name, &[])?;
        let node = state.tree.add(name, Kind::File)?;
        fate.end()?;
        Ok(self.opened(&state, name, node))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let mut state = self.lock();
        let node = match state.tree.file(name) {
            Ok((node, _)) => node,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let fate = state.begin(Operation::Create, name, &[])?;
                let node = state.tree.add(name, Kind::File)?;
                fate.end()?;
                node
            }
            Err(error) => return Err(error),
        };
        Ok(self.opened(&state, name, node))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.lock();
        let fate = state.begin(Operation::Rename, from, &[])?;
        state.tree.rename(from, to)?;
        fate.end()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        let fate = state.begin(Operation::Remove, name, &[])?;
        state.tree.remove(name)?;
        fate.end()
    }

    fn truncate(&self, name: &str, length: u64) -> io::Result<()> {
        let mut state = self.lock();
        let fate = state.begin(Operation::Truncate, name, &[])?;
        let (node, _) = state.tree.file(name)?;
        state.tree.file_mut(node)?.truncate(length as usize);
        fate.end()?;
        sync(&mut state, name, node)
    }

    fn overwrite(&self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        let (node, _) = state.tree.file(name)?;
        let fate = state.begin(Operation::Write, name, &[])?;
        state.tree.file_mut(node)?.write(offset as usize, fate.part(bytes));
        fate.end()?;
        sync(&mut state, name, node)
    }

    fn sync_dir(&self, name: &str) -> io::Result<()> {
        sync_dir(&mut self.lock(), name)
    }
}

impl Machine {
    fn opened(&self, state: &State, name: &str, node: Node) -> Box<dyn StorageFile> {
        Box::new(Open { machine: self.clone(), name: name.to_owned(), node, start: state.starts })
    }
}

fn sync(state: &mut State, name: &str, node: Node) -> io::Result<()> {
    let fate = state.begin(Operation::Sync, name, &[])?;
    let file = state.tree.file_mut(node)?;
    if fate == Fate::Dropped {
        file.fail_to_sync()
    } else {
        file.sync()
    }
    fate.end()
}

fn sync_dir(state: &mut State, name: &str) -> io::Result<()> {
    let fate = state.begin(Operation::SyncDir, name, &[])?;
    state.tree.directory_mut(name)?.sync();
    fate.end()
}

/// A file that a process has open; it outlives its name, and not the process.
#[derive(Debug)]
struct Open {
    machine: Machine,
    name: String,
    node: Node,
    start: u64,
}

impl Open {
    fn with<T>(&self, operation: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.machine.lock();
        if state.starts == self.start {
            operation(&mut state)
        } else {
            Err(io::Error::other("the process that opened the file has ended"))
        }
    }
}

impl StorageFile for Open {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.with(|state| {
            let fate = state.begin(Operation::Write, &self.name, bytes)?;
            state.tree.file_mut(self.node)?.append(fate.part(bytes));
            fate.end()
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.with(|state| sync(state, &self.name, self.node))
    }
}
