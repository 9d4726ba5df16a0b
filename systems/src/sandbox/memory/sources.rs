//! A tree as the sources of a Python session.

use std::borrow::Cow;

use tadpole_scenarios::repository::{Entry, Tree};

use crate::interpreter::Sources;

/// How many links one look-up follows.
const LINKS_MAX: usize = 40;

/// The files of a tree, links followed.
pub(super) struct TreeSources<'t> {
    tree: &'t Tree,
}

impl<'t> TreeSources<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self { tree }
    }

    /// Where `path` leads; `None` if it leaves the tree or never ends.
    fn resolve(&self, path: &str) -> Option<String> {
        let mut pending: Vec<String> = parts(path);
        let mut done: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(part) = pending.pop() {
            match part.as_str() {
                "." => continue,
                ".." => {
                    done.pop()?;
                    continue;
                }
                _ => done.push(part),
            }
            if let Some(Entry::Link { target }) = self.tree.get(&done.join("/")) {
                links += 1;
                if links > LINKS_MAX || target.starts_with('/') {
                    return None;
                }
                done.pop();
                pending.extend(parts(target));
            }
        }
        Some(done.join("/"))
    }
}

/// The parts of a path, last first.
fn parts(path: &str) -> Vec<String> {
    path.split('/').filter(|part| !part.is_empty()).rev().map(str::to_owned).collect()
}

impl Sources for TreeSources<'_> {
    fn read(&self, path: &str) -> Option<Cow<'_, [u8]>> {
        if let Some(bytes) = self.tree.file(path) {
            return Some(Cow::Borrowed(bytes));
        }
        self.tree.file(&self.resolve(path)?).map(Cow::Borrowed)
    }

    fn is_dir(&self, path: &str) -> bool {
        self.tree.is_directory(path) || self.resolve(path).is_some_and(|path| self.tree.is_directory(&path))
    }
}
