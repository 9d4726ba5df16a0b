//! A directory: names as processes see them, and as they are on the medium.

use std::collections::BTreeMap;

use crate::draws::Stream;

/// A file or directory, whatever its name.
pub(super) type Node = u64;

/// A change of names that happens at once or not at all.
#[derive(Clone, Debug)]
enum Change {
    Put(String, Node),
    Take(String),
    Move(String, String, Node),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    names: BTreeMap<String, Node>,
    durable: BTreeMap<String, Node>,
    /// Changes that the next sync makes durable, the first first.
    pending: Vec<Change>,
}

impl Directory {
    pub(super) fn get(&self, name: &str) -> Option<Node> {
        self.names.get(name).copied()
    }

    pub(super) fn names(&self) -> &BTreeMap<String, Node> {
        &self.names
    }

    pub(super) fn put(&mut self, name: &str, node: Node) {
        self.change(Change::Put(name.to_owned(), node));
    }

    pub(super) fn take(&mut self, name: &str) {
        self.change(Change::Take(name.to_owned()));
    }

    pub(super) fn rename(&mut self, from: &str, to: &str, node: Node) {
        self.change(Change::Move(from.to_owned(), to.to_owned(), node));
    }

    pub(super) fn sync(&mut self) {
        self.durable.clone_from(&self.names);
        self.pending.clear();
    }

    pub(super) fn lose(&mut self) {
        self.names.clone_from(&self.durable);
        self.pending.clear();
    }

    pub(super) fn lose_some(&mut self, chance: &mut Stream) {
        for change in std::mem::take(&mut self.pending) {
            if chance.below(2) == 0 {
                apply(&mut self.durable, change);
            }
        }
        self.lose();
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.names, change.clone());
        self.pending.push(change);
    }
}

fn apply(names: &mut BTreeMap<String, Node>, change: Change) {
    match change {
        Change::Put(name, node) => {
            names.insert(name, node);
        }
        Change::Take(name) => {
            names.remove(&name);
        }
        Change::Move(from, to, node) => {
            names.remove(&from);
            names.insert(to, node);
        }
    }
}
