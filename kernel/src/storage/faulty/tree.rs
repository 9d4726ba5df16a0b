//! The files of a machine. Cheap to copy: content is shared until it changes.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::directory::{Directory, Node};
use super::file::File;
use super::machine::Survival;
use crate::draws::{Stream, StreamKey};

const ROOT: Node = 0;

#[derive(Clone, Debug)]
pub(super) struct Tree {
    files: BTreeMap<Node, File>,
    directories: BTreeMap<Node, Directory>,
    next: Node,
}

impl Tree {
    pub(super) fn new() -> Self {
        let directories = BTreeMap::from([(ROOT, Directory::default())]);
        Self { files: BTreeMap::new(), directories, next: ROOT + 1 }
    }

    /// The node of this name; the root's is empty.
    pub(super) fn find(&self, name: &str) -> Option<Node> {
        name.split('/')
            .filter(|part| !part.is_empty())
            .try_fold(ROOT, |node, part| self.directories.get(&node)?.get(part))
    }

    pub(super) fn file(&self, name: &str) -> io::Result<(Node, &File)> {
        let node = self.find(name).ok_or(io::ErrorKind::NotFound)?;
        Ok((node, self.files.get(&node).ok_or(io::ErrorKind::IsADirectory)?))
    }

    pub(super) fn file_mut(&mut self, node: Node) -> io::Result<&mut File> {
        self.files.get_mut(&node).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn directory(&self, name: &str) -> io::Result<&Directory> {
        let node = self.find(name).ok_or(io::ErrorKind::NotFound)?;
        self.directories.get(&node).ok_or_else(|| io::ErrorKind::NotADirectory.into())
    }

    pub(super) fn directory_mut(&mut self, name: &str) -> io::Result<&mut Directory> {
        let node = self.find(name).ok_or(io::ErrorKind::NotFound)?;
        self.directories.get_mut(&node).ok_or_else(|| io::ErrorKind::NotADirectory.into())
    }

    /// Gives a new file or directory its name, in a directory that exists.
    pub(super) fn add(&mut self, name: &str, kind: Kind) -> io::Result<Node> {
        if self.find(name).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let node = self.next;
        let (parent, last) = split(name);
        self.directory_mut(parent)?.put(last, node);
        self.next += 1;
        match kind {
            Kind::File => drop(self.files.insert(node, File::default())),
            Kind::Directory => drop(self.directories.insert(node, Directory::default())),
        }
        Ok(node)
    }

    pub(super) fn remove(&mut self, name: &str) -> io::Result<()> {
        self.file(name)?;
        let (parent, last) = split(name);
        self.directory_mut(parent)?.take(last);
        Ok(())
    }

    /// Within a directory. What has the new name is replaced, unless it is a directory.
    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let node = self.find(from).ok_or(io::ErrorKind::NotFound)?;
        let ((parent, from), (target, to_name)) = (split(from), split(to));
        if parent != target {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        if self.find(to).is_some_and(|node| self.directories.contains_key(&node)) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        self.directory_mut(parent)?.rename(from, to_name, node);
        Ok(())
    }

    /// Puts a file there durably, with the directories above it.
    pub(super) fn put(&mut self, name: &str, bytes: Vec<u8>) -> io::Result<()> {
        let mut above = String::new();
        let (parent, _) = split(name);
        for part in parent.split('/').filter(|part| !part.is_empty()) {
            let directory = if above.is_empty() { part.to_owned() } else { format!("{above}/{part}") };
            if self.find(&directory).is_none() {
                self.add(&directory, Kind::Directory)?;
                self.directory_mut(&above)?.sync();
            }
            above = directory;
        }
        let node = match self.find(name) {
            Some(node) => node,
            None => self.add(name, Kind::File)?,
        };
        self.directory_mut(parent)?.sync();
        *self.file_mut(node)? = File::durably(bytes);
        Ok(())
    }

    /// The power fails and comes back.
    pub(super) fn power_cycle(&mut self, survival: Survival) {
        let mut chance = match survival {
            Survival::Something(seed) => {
                Some(Stream::new(seed, &StreamKey::new("what a power failure keeps")))
            }
            Survival::Nothing | Survival::Everything => None,
        };
        for file in self.files.values_mut() {
            match (survival, &mut chance) {
                (Survival::Everything, _) => file.keep(),
                (_, Some(chance)) => file.lose_some(chance),
                _ => file.lose(),
            }
        }
        for directory in self.directories.values_mut() {
            match (survival, &mut chance) {
                (Survival::Everything, _) => directory.sync(),
                (_, Some(chance)) => directory.lose_some(chance),
                _ => directory.lose(),
            }
        }
    }

    /// Every file below directory `name`, by its path from there.
    pub(super) fn content(&self, name: &str) -> BTreeMap<String, Arc<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut open: Vec<(String, Node)> =
            self.find(name).map(|node| (String::new(), node)).into_iter().collect();
        while let Some((path, node)) = open.pop() {
            if let Some(file) = self.files.get(&node) {
                found.insert(path, Arc::clone(file.bytes()));
            } else if let Some(directory) = self.directories.get(&node) {
                let join =
                    |last: &str| if path.is_empty() { last.to_owned() } else { format!("{path}/{last}") };
                open.extend(directory.names().iter().map(|(last, node)| (join(last), *node)));
            }
        }
        found
    }
}

/// What a new node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
}

/// Directory and last part of a name.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}
