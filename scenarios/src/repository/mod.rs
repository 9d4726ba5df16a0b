//! Repositories as values: a sorted map of paths to files and links, with one byte string for each tree.

mod canonical;
mod path;

use std::collections::BTreeMap;

pub use canonical::CanonicalError;
pub use path::PathError;

/// Permission bits of an ordinary file.
pub const MODE_FILE: u32 = 0o644;
/// Permission bits of an executable file.
pub const MODE_EXECUTABLE: u32 = 0o755;
/// The bits a mode may have: permissions, set-id and sticky.
pub const MODE_MASK: u32 = 0o7777;

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entry {
    /// A regular file.
    File {
        /// Its content, of any encoding.
        bytes: Vec<u8>,
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link. It is never followed here.
    Link {
        /// Where it points, as it is written.
        target: String,
    },
    /// Nothing: in a difference, the path was removed.
    Absent,
}

/// A repository, or a difference between two.
///
/// Paths are relative, `/`-separated and free of empty, `.` and `..` parts; directories exist by their content alone.
/// No entry lies below a file or link of the same tree.
///
/// ```
/// use tadpole_scenarios::repository::Tree;
/// let mut base = Tree::new();
/// base.insert_file("src/a.py", "x = 1\n")?;
/// let mut now = base.clone();
/// now.insert_file("src/a.py", "x = 2\n")?;
/// let change = base.diff(&now);
/// assert_eq!(base.overlaid(&change), now);
/// assert_eq!(Tree::from_canonical(&now.canonical_bytes()).ok(), Some(now));
/// # Ok::<(), tadpole_scenarios::repository::PathError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tree {
    entries: BTreeMap<String, Entry>,
}

impl Tree {
    /// A tree without entries.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: BTreeMap::new() }
    }

    /// A tree of ordinary files; refuses what [`Tree::insert`] does.
    pub fn from_files<P: AsRef<str>, B: Into<Vec<u8>>>(
        files: impl IntoIterator<Item = (P, B)>,
    ) -> Result<Self, PathError> {
        let mut tree = Self::new();
        for (path, bytes) in files {
            tree.insert_file(path.as_ref(), bytes)?;
        }
        Ok(tree)
    }

    /// Puts `entry` at `path`, in place of what stood there; bits of a mode beyond [`MODE_MASK`] are dropped. Refuses a
    /// malformed path, and one that lies below a file or link or is a directory already.
    pub fn insert(&mut self, path: &str, mut entry: Entry) -> Result<(), PathError> {
        path::check(path)?;
        if !matches!(entry, Entry::Absent) {
            self.check_place(path)?;
        }
        if let Entry::File { mode, .. } = &mut entry {
            *mode &= MODE_MASK;
        }
        self.entries.insert(path.to_owned(), entry);
        Ok(())
    }

    /// Puts an ordinary file at `path`.
    pub fn insert_file(&mut self, path: &str, bytes: impl Into<Vec<u8>>) -> Result<(), PathError> {
        self.insert(path, Entry::File { bytes: bytes.into(), mode: MODE_FILE })
    }

    /// Takes away what stands at `path`.
    pub fn remove(&mut self, path: &str) -> Option<Entry> {
        self.entries.remove(path)
    }

    /// What stands at `path`; `Some(Absent)` in a difference that removes it.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// Content of the file at `path`; `None` of a link or nothing.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        match self.entries.get(path) {
            Some(Entry::File { bytes, .. }) => Some(bytes),
            _ => None,
        }
    }

    /// Content of the file at `path`, where it is UTF-8.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.file(path).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// Whether a file or link stands at `path`.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.entries.get(path).is_some_and(|entry| *entry != Entry::Absent)
    }

    /// Whether `path` is a directory: some file or link lies below it. The empty path is the root, which always is.
    #[must_use]
    pub fn is_directory(&self, path: &str) -> bool {
        path.is_empty() || self.below(path).any(|(_, entry)| *entry != Entry::Absent)
    }

    /// Entries by ascending path, compared as bytes.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// Paths in ascending order.
    pub fn paths(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What turns `self` into `now`: entries that are new or differ, and [`Entry::Absent`] for those that are gone.
    #[must_use]
    pub fn diff(&self, now: &Self) -> Self {
        let gone = self.iter().filter(|(path, entry)| **entry != Entry::Absent && !now.contains(path));
        let mut entries: BTreeMap<String, Entry> =
            gone.map(|(path, _)| (path.to_owned(), Entry::Absent)).collect();
        for (path, entry) in now.iter() {
            if *entry != Entry::Absent && self.get(path) != Some(entry) {
                entries.insert(path.to_owned(), entry.clone());
            }
        }
        Self { entries }
    }

    /// `self` with `change` laid over it: its entries replace those of the same path, an absent one removes it, and a
    /// file gives way to a directory and a directory to a file. The result has no absent entries.
    #[must_use]
    pub fn overlaid(&self, change: &Self) -> Self {
        let mut result = self.clone();
        result.entries.retain(|_, entry| *entry != Entry::Absent);
        for (path, _) in change.iter().filter(|(_, entry)| **entry == Entry::Absent) {
            result.entries.remove(path);
        }
        for (path, entry) in change.iter().filter(|(_, entry)| **entry != Entry::Absent) {
            result.make_way(path);
            result.entries.insert(path.to_owned(), entry.clone());
        }
        result
    }

    /// Blake3 of the canonical bytes.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        *blake3::hash(&self.canonical_bytes()).as_bytes()
    }

    /// Removes whatever keeps a file from standing at `path`.
    fn make_way(&mut self, path: &str) {
        for ancestor in path::ancestors(path) {
            self.entries.remove(ancestor);
        }
        let covered: Vec<String> = self.below(path).map(|(below, _)| below.to_owned()).collect();
        for below in covered {
            self.entries.remove(&below);
        }
    }

    fn check_place(&self, path: &str) -> Result<(), PathError> {
        if let Some(ancestor) = path::ancestors(path).find(|ancestor| self.contains(ancestor)) {
            return Err(PathError::BelowFile { path: path.to_owned(), file: ancestor.to_owned() });
        }
        if self.is_directory(path) {
            return Err(PathError::IsDirectory { path: path.to_owned() });
        }
        Ok(())
    }

    fn below<'a>(&'a self, directory: &str) -> impl Iterator<Item = (&'a str, &'a Entry)> + use<'a> {
        let prefix = format!("{directory}/");
        self.entries
            .range(prefix.clone()..)
            .take_while(move |(path, _)| path.starts_with(&prefix))
            .map(|(path, entry)| (path.as_str(), entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        Tree::from_files(files.iter().copied()).unwrap()
    }

    #[test]
    fn malformed_paths_are_refused() {
        for path in ["", "/a", "a/", "a//b", ".", "a/./b", "..", "a/../b", "a\0b"] {
            assert!(Tree::new().insert_file(path, "").is_err(), "{path:?}");
        }
    }

    #[test]
    fn nothing_lies_below_a_file() {
        let mut repository = tree(&[("a", "1"), ("d/x", "2")]);
        assert!(matches!(repository.insert_file("a/b", ""), Err(PathError::BelowFile { .. })));
        assert!(matches!(repository.insert_file("d", ""), Err(PathError::IsDirectory { .. })));
        assert!(repository.insert_file("d-x", "").is_ok());
    }

    #[test]
    fn a_difference_restores_what_it_was_taken_of_when_a_file_becomes_a_directory() {
        let (before, after) = (tree(&[("a", "1"), ("b/c", "2")]), tree(&[("a/x", "1"), ("b", "2")]));
        assert_eq!(before.overlaid(&before.diff(&after)), after);
        assert_eq!(after.overlaid(&after.diff(&before)), before);
    }

    #[test]
    fn modes_and_links_are_part_of_a_difference() {
        let before = tree(&[("run", "x"), ("to", "y")]);
        let mut after = before.clone();
        after.insert("run", Entry::File { bytes: b"x".to_vec(), mode: MODE_EXECUTABLE }).unwrap();
        after.insert("to", Entry::Link { target: "../run".into() }).unwrap();
        assert_eq!(before.diff(&after).paths().collect::<Vec<_>>(), ["run", "to"]);
        assert!(before.diff(&before).is_empty());
        assert_ne!(before.digest(), after.digest());
    }
}
