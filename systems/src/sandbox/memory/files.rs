//! The file system of a shell call: a sorted map, with the repository below [`ROOT`].
//!
//! Times are virtual: each change is one second after the one before it, from a fixed start. Devices that give entropy do
//! not exist. Links are stored, not followed: the shell follows them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Error as IoError, ErrorKind};
use std::ops::Bound;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bashkit::{DirEntry, FileSystem, FileSystemExt, FileType, Metadata, async_trait};
use tadpole_scenarios::repository::{Entry, Tree};

use crate::interpreter::Sources;
use crate::sandbox::Limits;

use super::pytest::Project;
use super::sources::TreeSources;
use super::{ROOT, commands};

/// When everything that a call finds was made: seconds since 1970.
pub(super) const EPOCH_SECONDS: u64 = 1_700_000_000;

/// The longest path, bytes.
const PATH_BYTES_MAX: usize = 4_096;

/// The longest name in a path, bytes.
const NAME_BYTES_MAX: usize = 255;

/// How many links one look-up follows.
const LINKS_MAX: usize = 40;

/// What one read of `/dev/zero` gives.
const ZERO_BYTES: usize = 64 << 10;

const MODE_DIRECTORY: u32 = 0o755;
const PROGRAM_DIRECTORIES: [&str; 2] = ["/bin", "/usr/bin"];
const DIRECTORIES: [&str; 9] = ["/", "/bin", "/dev", "/home", "/home/user", "/tmp", "/usr", "/usr/bin", ROOT];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    File(Vec<u8>),
    Directory,
    Link(String),
}

#[derive(Clone, Debug)]
struct Node {
    kind: Kind,
    mode: u32,
    modified: Duration,
}

#[derive(Debug)]
struct State {
    nodes: BTreeMap<String, Node>,
    bytes: u64,
    changes: u64,
}

/// The file system of one call.
#[derive(Debug)]
pub(super) struct Files {
    state: Mutex<State>,
    nodes_max: u64,
    bytes_max: u64,
}

impl Files {
    /// The file system that holds `tree` and is otherwise empty.
    pub(super) fn new(tree: &Tree, limits: &Limits) -> Self {
        let mut state = State { nodes: BTreeMap::new(), bytes: 0, changes: 0 };
        for directory in DIRECTORIES {
            state.put_initial(directory.to_owned(), Kind::Directory, MODE_DIRECTORY);
        }
        for (path, entry) in tree.iter() {
            for (at, _) in path.match_indices('/') {
                let parent = below_root(&path[..at]);
                if !state.nodes.contains_key(&parent) {
                    state.put_initial(parent, Kind::Directory, MODE_DIRECTORY);
                }
            }
            match entry {
                Entry::File { bytes, mode } => {
                    state.bytes += bytes.len() as u64;
                    state.put_initial(below_root(path), Kind::File(bytes.clone()), *mode);
                }
                Entry::Link { target } => {
                    state.put_initial(below_root(path), Kind::Link(target.clone()), 0o777);
                }
                Entry::Absent => {}
            }
        }
        Self { state: Mutex::new(state), nodes_max: limits.files, bytes_max: limits.disk_bytes }
    }

    /// The repository as it is now.
    pub(super) fn tree(&self) -> Tree {
        let state = self.state();
        let mut tree = Tree::new();
        for (path, node) in below(&state.nodes, ROOT) {
            let path = &path[ROOT.len() + 1..];
            let entry = match &node.kind {
                Kind::File(bytes) => Entry::File { bytes: bytes.clone(), mode: node.mode },
                Kind::Link(target) => Entry::Link { target: target.clone() },
                Kind::Directory => continue,
            };
            // A path that no tree can have cannot be reported either.
            tree.insert(path, entry).ok();
        }
        tree
    }

    /// The bytes of the file that a path leads to, links followed.
    pub(super) fn read_following(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        let mut path = normal(path).ok()?;
        for _ in 0..LINKS_MAX {
            match &state.nodes.get(&path)?.kind {
                Kind::File(bytes) => return Some(bytes.clone()),
                Kind::Directory => return None,
                Kind::Link(target) => path = normal(&Path::new(parent_of(&path)).join(target)).ok()?,
            }
        }
        None
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses what would go beyond the limits: `added` bytes and, if `is_new`, one more node.
    fn check_room(&self, state: &State, added: u64, is_new: bool) -> bashkit::Result<()> {
        let full = state.bytes.saturating_add(added) > self.bytes_max
            || (is_new && state.nodes.len() as u64 >= self.nodes_max);
        if full {
            Err(IoError::new(ErrorKind::StorageFull, "No space left on device").into())
        } else {
            Ok(())
        }
    }

    fn put_file(&self, path: &Path, content: &[u8], append: bool) -> bashkit::Result<()> {
        let path = normal(path)?;
        if is_sink(&path) {
            return Ok(());
        }
        let mut state = self.state();
        let old = match state.nodes.get(&path).map(|node| &node.kind) {
            Some(Kind::Directory) => return Err(IoError::other("is a directory").into()),
            Some(Kind::Link(_)) => return Err(not_found()),
            Some(Kind::File(bytes)) => Some(bytes.len()),
            None => {
                state.check_parent(&path)?;
                None
            }
        };
        let kept = if append { old.unwrap_or(0) } else { 0 };
        let freed = (old.unwrap_or(0) - kept) as u64;
        self.check_room(&state, (content.len() as u64).saturating_sub(freed), old.is_none())?;
        let modified = state.tick();
        let node = state.nodes.entry(path).or_insert_with(|| Node {
            kind: Kind::File(Vec::new()),
            mode: 0o644,
            modified,
        });
        node.modified = modified;
        if let Kind::File(bytes) = &mut node.kind {
            bytes.truncate(kept);
            bytes.extend_from_slice(content);
        }
        state.bytes = state.bytes - freed + content.len() as u64;
        Ok(())
    }
}

impl State {
    fn put_initial(&mut self, path: String, kind: Kind, mode: u32) {
        self.nodes.insert(path, Node { kind, mode, modified: Duration::from_secs(EPOCH_SECONDS) });
    }

    /// The time of the next change.
    fn tick(&mut self) -> Duration {
        self.changes += 1;
        Duration::from_secs(EPOCH_SECONDS + self.changes)
    }

    fn check_parent(&self, path: &str) -> bashkit::Result<()> {
        let parent = parent_of(path);
        match self.nodes.get(parent).map(|node| &node.kind) {
            Some(Kind::Directory) => Ok(()),
            Some(Kind::File(_)) => Err(IoError::new(ErrorKind::NotADirectory, "not a directory").into()),
            Some(Kind::Link(_)) | None => {
                Err(IoError::new(ErrorKind::NotFound, "parent directory not found").into())
            }
        }
    }

    /// Why nothing can be found at `path`.
    fn missing(&self, path: &str) -> bashkit::Error {
        let mut parent = parent_of(path);
        while parent != "/" {
            if let Some(Kind::File(_)) = self.nodes.get(parent).map(|node| &node.kind) {
                return IoError::new(ErrorKind::NotADirectory, "not a directory").into();
            }
            parent = parent_of(parent);
        }
        not_found()
    }

    fn metadata(&self, path: &str) -> Option<Metadata> {
        if let Some(node) = self.nodes.get(path) {
            return Some(node.metadata());
        }
        device(path).or_else(|| program(path).map(|text| fixed(FileType::File, text.len() as u64, 0o755)))
    }

    fn is_empty_directory(&self, path: &str) -> bool {
        below(&self.nodes, path).next().is_none()
    }

    fn remove(&mut self, path: &str) -> Option<Node> {
        let node = self.nodes.remove(path)?;
        self.bytes -= node.len();
        Some(node)
    }
}

impl Node {
    fn len(&self) -> u64 {
        match &self.kind {
            Kind::File(bytes) => bytes.len() as u64,
            Kind::Directory | Kind::Link(_) => 0,
        }
    }

    fn metadata(&self) -> Metadata {
        let (file_type, size) = match &self.kind {
            Kind::File(bytes) => (FileType::File, bytes.len() as u64),
            Kind::Directory => (FileType::Directory, 4_096),
            Kind::Link(target) => (FileType::Symlink, target.len() as u64),
        };
        let modified = SystemTime::UNIX_EPOCH + self.modified;
        Metadata { file_type, size, mode: self.mode, modified, created: modified }
    }
}

fn fixed(file_type: FileType, size: u64, mode: u32) -> Metadata {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(EPOCH_SECONDS);
    Metadata { file_type, size, mode, modified: time, created: time }
}

fn device(path: &str) -> Option<Metadata> {
    is_sink(path).then(|| fixed(FileType::File, 0, 0o666))
}

fn is_sink(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/zero")
}

/// The text of a program file that stands for a command: the shell knows it by this form.
fn program(path: &str) -> Option<String> {
    let (directory, name) = path.rsplit_once('/')?;
    (PROGRAM_DIRECTORIES.contains(&directory) && commands::is_program(name))
        .then(|| format!("#!/bin/sh\n# bashkit builtin: {name}\nexec {name} \"$@\"\n"))
}

fn not_found() -> bashkit::Error {
    IoError::new(ErrorKind::NotFound, "file not found").into()
}

fn below_root(path: &str) -> String {
    format!("{ROOT}/{path}")
}

fn parent_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}

/// Everything below a directory, ascending.
fn below<'n>(
    nodes: &'n BTreeMap<String, Node>,
    directory: &str,
) -> impl Iterator<Item = (&'n String, &'n Node)> {
    let prefix = if directory == "/" { "/".to_owned() } else { format!("{directory}/") };
    let range = (Bound::Excluded(prefix.clone()), Bound::Unbounded);
    nodes.range::<String, _>(range).take_while(move |(path, _)| path.starts_with(&prefix))
}

/// An absolute path without `.`, `..` and doubled separators.
fn normal(path: &Path) -> bashkit::Result<String> {
    let mut parts: Vec<&str> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => {
                let part = part.to_str().filter(|part| part.len() <= NAME_BYTES_MAX && !part.contains('\0'));
                parts.push(part.ok_or_else(|| IoError::new(ErrorKind::InvalidInput, "File name too long"))?);
            }
            Component::ParentDir => {
                parts.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    let path = format!("/{}", parts.join("/"));
    if path.len() > PATH_BYTES_MAX {
        return Err(IoError::new(ErrorKind::InvalidInput, "File name too long").into());
    }
    Ok(path)
}

impl FileSystemExt for Files {
    fn backend_kind(&self) -> &'static str {
        "tree"
    }
}

#[async_trait]
impl FileSystem for Files {
    async fn read_file(&self, path: &Path) -> bashkit::Result<Vec<u8>> {
        let path = normal(path)?;
        let state = self.state();
        match state.nodes.get(&path).map(|node| &node.kind) {
            Some(Kind::File(bytes)) => Ok(bytes.clone()),
            Some(Kind::Directory) => Err(IoError::other("is a directory").into()),
            Some(Kind::Link(_)) => Err(not_found()),
            None if path == "/dev/null" => Ok(Vec::new()),
            None if path == "/dev/zero" => Ok(vec![0; ZERO_BYTES]),
            None => program(&path).map(String::into_bytes).ok_or_else(|| state.missing(&path)),
        }
    }

    async fn write_file(&self, path: &Path, content: &[u8]) -> bashkit::Result<()> {
        self.put_file(path, content, false)
    }

    async fn append_file(&self, path: &Path, content: &[u8]) -> bashkit::Result<()> {
        self.put_file(path, content, true)
    }

    async fn mkdir(&self, path: &Path, recursive: bool) -> bashkit::Result<()> {
        let path = normal(path)?;
        let mut state = self.state();
        match state.nodes.get(&path).map(|node| &node.kind) {
            Some(Kind::Directory) if recursive => return Ok(()),
            Some(_) => return Err(IoError::new(ErrorKind::AlreadyExists, "File exists").into()),
            None => {}
        }
        let mut missing = vec![path.clone()];
        if recursive {
            let mut parent = parent_of(&path);
            while !state.nodes.contains_key(parent) {
                missing.push(parent.to_owned());
                parent = parent_of(parent);
            }
        }
        for path in missing.into_iter().rev() {
            state.check_parent(&path)?;
            self.check_room(&state, 0, true)?;
            let modified = state.tick();
            state.nodes.insert(path, Node { kind: Kind::Directory, mode: MODE_DIRECTORY, modified });
        }
        Ok(())
    }

    async fn remove(&self, path: &Path, recursive: bool) -> bashkit::Result<()> {
        let path = normal(path)?;
        let mut state = self.state();
        let Some(node) = state.nodes.get(&path) else { return Err(state.missing(&path)) };
        if node.kind == Kind::Directory {
            if !recursive && !state.is_empty_directory(&path) {
                return Err(IoError::new(ErrorKind::DirectoryNotEmpty, "Directory not empty").into());
            }
            let inside: Vec<String> = below(&state.nodes, &path).map(|(path, _)| path.clone()).collect();
            for path in inside {
                state.remove(&path);
            }
        }
        if path != "/" {
            state.remove(&path);
        }
        Ok(())
    }

    async fn stat(&self, path: &Path) -> bashkit::Result<Metadata> {
        let path = normal(path)?;
        let state = self.state();
        state.metadata(&path).ok_or_else(|| state.missing(&path))
    }

    async fn read_dir(&self, path: &Path) -> bashkit::Result<Vec<DirEntry>> {
        let path = normal(path)?;
        let state = self.state();
        match state.nodes.get(&path).map(|node| &node.kind) {
            Some(Kind::Directory) => {}
            Some(_) => return Err(IoError::new(ErrorKind::NotADirectory, "not a directory").into()),
            None => return Err(state.missing(&path)),
        }
        let start = if path == "/" { 1 } else { path.len() + 1 };
        let mut entries: Vec<DirEntry> = below(&state.nodes, &path)
            .filter(|(below, _)| !below[start..].contains('/'))
            .map(|(below, node)| DirEntry { name: below[start..].to_owned(), metadata: node.metadata() })
            .collect();
        if PROGRAM_DIRECTORIES.contains(&path.as_str()) {
            for name in commands::programs() {
                if let Some(metadata) = state.metadata(&format!("{path}/{name}")) {
                    entries.push(DirEntry { name: name.to_owned(), metadata });
                }
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    async fn exists(&self, path: &Path) -> bashkit::Result<bool> {
        let path = normal(path)?;
        Ok(self.state().metadata(&path).is_some())
    }

    async fn rename(&self, from: &Path, to: &Path) -> bashkit::Result<()> {
        let (from, to) = (normal(from)?, normal(to)?);
        let mut state = self.state();
        let Some(source) = state.nodes.get(&from).cloned() else { return Err(state.missing(&from)) };
        if from == to {
            return Ok(());
        }
        if to.strip_prefix(&from).is_some_and(|rest| rest.starts_with('/')) {
            return Err(IoError::new(ErrorKind::InvalidInput, "Invalid argument").into());
        }
        state.check_parent(&to)?;
        let target = state.nodes.get(&to).map(|node| node.kind.clone());
        match (&source.kind, target) {
            (Kind::Directory, Some(Kind::Directory)) if state.is_empty_directory(&to) => {}
            (Kind::Directory, Some(Kind::Directory)) => {
                return Err(IoError::new(ErrorKind::DirectoryNotEmpty, "Directory not empty").into());
            }
            (Kind::Directory, Some(_)) => {
                return Err(IoError::new(ErrorKind::NotADirectory, "not a directory").into());
            }
            (_, Some(Kind::Directory)) => return Err(IoError::other("is a directory").into()),
            (_, Some(_) | None) => {}
        }
        state.remove(&to);
        let inside: Vec<String> = below(&state.nodes, &from).map(|(path, _)| path.clone()).collect();
        for path in inside.into_iter().chain([from.clone()]) {
            if let Some(node) = state.nodes.remove(&path) {
                state.nodes.insert(format!("{to}{}", &path[from.len()..]), node);
            }
        }
        Ok(())
    }

    async fn copy(&self, from: &Path, to: &Path) -> bashkit::Result<()> {
        let mode = self.stat(from).await?.mode;
        let bytes = self.read_file(from).await?;
        let is_new = !self.exists(to).await?;
        self.put_file(to, &bytes, false)?;
        if is_new { self.chmod(to, mode).await } else { Ok(()) }
    }

    async fn symlink(&self, target: &Path, link: &Path) -> bashkit::Result<()> {
        let link = normal(link)?;
        let target =
            target.to_str().ok_or_else(|| IoError::new(ErrorKind::InvalidInput, "Invalid argument"))?;
        let mut state = self.state();
        if state.nodes.contains_key(&link) {
            return Err(IoError::new(ErrorKind::AlreadyExists, "File exists").into());
        }
        state.check_parent(&link)?;
        self.check_room(&state, 0, true)?;
        let modified = state.tick();
        state.nodes.insert(link, Node { kind: Kind::Link(target.to_owned()), mode: 0o777, modified });
        Ok(())
    }

    async fn read_link(&self, path: &Path) -> bashkit::Result<PathBuf> {
        let path = normal(path)?;
        let state = self.state();
        match state.nodes.get(&path).map(|node| &node.kind) {
            Some(Kind::Link(target)) => Ok(PathBuf::from(target)),
            Some(_) => Err(IoError::new(ErrorKind::InvalidInput, "not a symbolic link").into()),
            None => Err(state.missing(&path)),
        }
    }

    async fn chmod(&self, path: &Path, mode: u32) -> bashkit::Result<()> {
        let path = normal(path)?;
        let mut state = self.state();
        match state.nodes.get_mut(&path) {
            Some(node) => {
                node.mode = mode & 0o7777;
                Ok(())
            }
            None => Err(state.missing(&path)),
        }
    }

    async fn set_modified_time(&self, path: &Path, time: SystemTime) -> bashkit::Result<()> {
        let path = normal(path)?;
        let mut state = self.state();
        match state.nodes.get_mut(&path) {
            Some(node) => {
                node.modified = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                Ok(())
            }
            None => Err(state.missing(&path)),
        }
    }
}

/// The repository of a call as a Python project, seen from a working directory.
pub(super) struct Checkout {
    tree: Tree,
    directory: String,
}

impl Checkout {
    /// The repository of `files` as it is now; commands run in `directory`, an absolute path.
    pub(super) fn new(files: &Files, directory: &Path) -> Self {
        Self { tree: files.tree(), directory: directory.to_string_lossy().into_owned() }
    }
}

impl Sources for Checkout {
    fn read(&self, path: &str) -> Option<Cow<'_, [u8]>> {
        TreeSources::new(&self.tree).read(path).map(|bytes| Cow::Owned(bytes.into_owned()))
    }

    fn is_dir(&self, path: &str) -> bool {
        TreeSources::new(&self.tree).is_dir(path)
    }
}

impl Project for Checkout {
    fn paths(&self) -> Vec<String> {
        self.tree.paths().map(str::to_owned).collect()
    }

    fn locate(&self, argument: &str) -> Option<String> {
        let path = normal(&Path::new(&self.directory).join(argument)).ok()?;
        let below = path.strip_prefix(ROOT)?;
        if below.is_empty() { Some(String::new()) } else { below.strip_prefix('/').map(str::to_owned) }
    }
}
