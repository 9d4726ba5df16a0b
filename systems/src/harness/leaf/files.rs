//! The repository as the file tools see it: paths, links and bytes over a tree.

use tadpole_scenarios::repository::{Entry, MODE_FILE, PathError, Tree};

/// Where the repository lies for commands and absolute paths.
pub use crate::sandbox::memory::ROOT as MOUNT;

/// Links followed before a path is given up as a loop.
const LINKS_MAX: usize = 40;

/// A tree under change.
pub(super) struct Files {
    tree: Tree,
}

impl Files {
    pub(super) fn new(tree: Tree) -> Self {
        Self { tree }
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Takes over what a command changed.
    pub(super) fn apply(&mut self, changed: &Tree) {
        self.tree = self.tree.overlaid(changed);
    }

    /// What differs from `base`.
    pub(super) fn changes_since(&self, base: &Tree) -> Tree {
        base.diff(&self.tree)
    }

    /// The repository path that `path` names: relative to the root, without `.`, `..` and links.
    pub(super) fn resolve(&self, path: &str) -> Result<String, String> {
        let mut links = 0;
        let mut pending: Vec<String> = parts(inside(path)?);
        let mut resolved: Vec<String> = Vec::new();
        while let Some(part) = pending.pop() {
            if part == ".." {
                resolved.pop().ok_or_else(|| outside(path))?;
                continue;
            }
            resolved.push(part);
            if let Some(Entry::Link { target }) = self.tree.get(&resolved.join("/")) {
                links += 1;
                if links > LINKS_MAX {
                    return Err(format!("{path}: too many levels of symbolic links"));
                }
                if target.starts_with('/') {
                    resolved.clear();
                } else {
                    resolved.pop();
                }
                pending.extend(parts(inside(target)?));
            }
        }
        Ok(resolved.join("/"))
    }

    /// The path as results show it: resolved and relative, `.` for the root.
    pub(super) fn shown(&self, path: &str) -> Result<String, String> {
        self.resolve(path).map(|path| if path.is_empty() { ".".to_owned() } else { path })
    }

    /// The bytes of the file that `path` names.
    pub(super) fn read(&self, path: &str) -> Result<&[u8], String> {
        let resolved = self.resolve(path)?;
        match self.tree.get(&resolved) {
            Some(Entry::File { bytes, .. }) => Ok(bytes),
            _ if self.tree.is_directory(&resolved) => Err(format!("{path} is a directory")),
            _ => Err(format!("no such file: {path}")),
        }
    }

    /// Gives the file that `path` names these bytes. Its mode stays; a link stays and its target is written; a new file
    /// brings its directories along.
    pub(super) fn write(&mut self, path: &str, bytes: Vec<u8>) -> Result<(), String> {
        let resolved = self.resolve(path)?;
        if path.ends_with('/') {
            return Err(format!("{path} is a directory"));
        }
        let mode = match self.tree.get(&resolved) {
            Some(Entry::File { mode, .. }) => *mode,
            _ => MODE_FILE,
        };
        self.tree.insert(&resolved, Entry::File { bytes, mode }).map_err(|fault| match fault {
            PathError::Malformed { .. } => format!("{path} is not a file"),
            other => other.to_string(),
        })
    }

    /// Paths of all files below `directory` (resolved; empty for the root) that follow to a file, relative to it.
    pub(super) fn below<'a>(&'a self, directory: &'a str) -> impl Iterator<Item = &'a str> {
        self.tree.iter().filter_map(move |(path, entry)| {
            let relative = match directory {
                "" => path,
                _ => path.strip_prefix(directory)?.strip_prefix('/')?,
            };
            let is_file = match entry {
                Entry::File { .. } => true,
                _ => self.read(path).is_ok(),
            };
            is_file.then_some(relative)
        })
    }
}

/// `path` relative to the root of the repository.
fn inside(path: &str) -> Result<&str, String> {
    if !path.starts_with('/') {
        return Ok(path);
    }
    match path.strip_prefix(MOUNT) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => Ok(rest),
        _ => Err(outside(path)),
    }
}

fn outside(path: &str) -> String {
    format!("{path} is outside the repository")
}

/// Parts of a path, the last first.
fn parts(path: &str) -> Vec<String> {
    path.split('/').rev().filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect()
}
