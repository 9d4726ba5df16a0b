//! One byte string for each tree: a count, then entries by ascending path. Integers are little-endian.
//!
//! ```text
//! tree  := u32 count, entry*
//! entry := u32 length, path, u8 kind, body
//! body  := kind 0 (file): u32 mode, u64 length, bytes | kind 1 (link): u32 length, target | kind 2 (absent): nothing
//! ```

use thiserror::Error;

use super::{Entry, MODE_MASK, PathError, Tree};

const FILE: u8 = 0;
const LINK: u8 = 1;
const ABSENT: u8 = 2;

/// Why bytes are not a canonical tree, and where that shows.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CanonicalError {
    /// A field runs past the end.
    #[error("byte {at}: {needed} bytes are needed, {left} are left")]
    Truncated {
        /// Offset of the field.
        at: usize,
        /// What it needs.
        needed: u64,
        /// What there is.
        left: usize,
    },
    /// Bytes follow the last entry.
    #[error("byte {at}: bytes follow the last entry")]
    Trailing {
        /// Where they begin.
        at: usize,
    },
    /// A path or target is not UTF-8.
    #[error("byte {at}: not UTF-8")]
    NotText {
        /// Where it begins.
        at: usize,
    },
    /// Paths do not strictly ascend.
    #[error("byte {at}: {path} does not come after the path before it")]
    Unsorted {
        /// Offset past the path.
        at: usize,
        /// The path out of order.
        path: String,
    },
    /// The kind of an entry is unknown.
    #[error("byte {at}: unknown kind {kind}")]
    UnknownKind {
        /// Its offset.
        at: usize,
        /// What stands there.
        kind: u8,
    },
    /// A mode has bits that no mode has.
    #[error("byte {at}: mode {mode:o} has unknown bits")]
    Mode {
        /// Its offset.
        at: usize,
        /// The mode.
        mode: u32,
    },
    /// A path that no tree has.
    #[error("byte {at}: {error}")]
    Path {
        /// Offset past the entry.
        at: usize,
        /// What is wrong with it.
        error: PathError,
    },
}

impl Tree {
    /// The tree's one byte string.
    #[must_use]
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let mut bytes = (self.len() as u32).to_le_bytes().to_vec();
        for (path, entry) in self.iter() {
            put_text(&mut bytes, path);
            match entry {
                Entry::File { bytes: content, mode } => {
                    bytes.push(FILE);
                    bytes.extend_from_slice(&mode.to_le_bytes());
                    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
                    bytes.extend_from_slice(content);
                }
                Entry::Link { target } => {
                    bytes.push(LINK);
                    put_text(&mut bytes, target);
                }
                Entry::Absent => bytes.push(ABSENT),
            }
        }
        bytes
    }

    /// The tree of a byte string; any bytes that [`Tree::canonical_bytes`] would not give are refused.
    pub fn from_canonical(bytes: &[u8]) -> Result<Self, CanonicalError> {
        let mut reader = Reader { bytes, at: 0 };
        let count = reader.u32()?;
        let mut tree = Self::new();
        for _ in 0..count {
            let path = reader.text()?;
            if tree.paths().next_back().is_some_and(|last| last >= path) {
                return Err(CanonicalError::Unsorted { at: reader.at, path: path.to_owned() });
            }
            let entry = reader.entry()?;
            tree.insert(path, entry).map_err(|error| CanonicalError::Path { at: reader.at, error })?;
        }
        if reader.at < bytes.len() {
            return Err(CanonicalError::Trailing { at: reader.at });
        }
        Ok(tree)
    }
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// The next bytes. What is asked for is compared with what is left before anything is allocated.
    fn take(&mut self, count: u64) -> Result<&'a [u8], CanonicalError> {
        let left = &self.bytes[self.at..];
        let short = CanonicalError::Truncated { at: self.at, needed: count, left: left.len() };
        let Some(taken) = usize::try_from(count).ok().and_then(|count| left.get(..count)) else {
            return Err(short);
        };
        self.at += taken.len();
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], CanonicalError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    fn u32(&mut self) -> Result<u32, CanonicalError> {
        self.array().map(u32::from_le_bytes)
    }

    fn text(&mut self) -> Result<&'a str, CanonicalError> {
        let count = self.u32()?;
        let at = self.at;
        let taken = self.take(u64::from(count))?;
        std::str::from_utf8(taken).map_err(|_| CanonicalError::NotText { at })
    }

    fn entry(&mut self) -> Result<Entry, CanonicalError> {
        let at = self.at;
        match self.array::<1>()?[0] {
            FILE => {
                let mode = self.u32()?;
                if mode & !MODE_MASK != 0 {
                    return Err(CanonicalError::Mode { at: at + 1, mode });
                }
                let length = u64::from_le_bytes(self.array()?);
                Ok(Entry::File { bytes: self.take(length)?.to_vec(), mode })
            }
            LINK => Ok(Entry::Link { target: self.text()?.to_owned() }),
            ABSENT => Ok(Entry::Absent),
            kind => Err(CanonicalError::UnknownKind { at, kind }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entries() -> impl Strategy<Value = Entry> {
        prop_oneof![
            4 => (prop::collection::vec(any::<u8>(), 0..12), 0..=MODE_MASK)
                .prop_map(|(bytes, mode)| Entry::File { bytes, mode }),
            1 => "[a-z/.]{0,6}".prop_map(|target| Entry::Link { target }),
        ]
    }

    /// Trees over few names, so that files, directories and differences collide often.
    fn trees() -> impl Strategy<Value = Tree> {
        prop::collection::vec(("[ab]{1,2}(/[ab]){0,2}", entries()), 0..8).prop_map(|entries| {
            let mut tree = Tree::new();
            for (path, entry) in entries {
                // A path that collides with an earlier one is left out.
                tree.insert(&path, entry).ok();
            }
            tree
        })
    }

    proptest! {
        #[test]
        fn every_tree_survives_its_bytes(tree in trees(), other in trees()) {
            for tree in [tree.diff(&other), tree] {
                prop_assert_eq!(Tree::from_canonical(&tree.canonical_bytes()), Ok(tree));
            }
        }

        #[test]
        fn bytes_that_are_read_are_the_trees_own(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(tree) = Tree::from_canonical(&bytes) {
                prop_assert_eq!(tree.canonical_bytes(), bytes);
            }
        }

        #[test]
        fn a_flipped_or_cut_byte_string_is_refused_or_another_tree(
            tree in trees(), at in any::<prop::sample::Index>(), flip in 1_u8..,
        ) {
            let bytes = tree.canonical_bytes();
            let at = at.index(bytes.len());
            prop_assert!(Tree::from_canonical(&bytes[..at]).is_err());
            let mut flipped = bytes;
            flipped[at] ^= flip;
            match Tree::from_canonical(&flipped) {
                Ok(other) => {
                    prop_assert_eq!(other.canonical_bytes(), flipped);
                    prop_assert_ne!(other, tree);
                }
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }

        #[test]
        fn a_difference_laid_over_its_base_gives_the_other_tree(base in trees(), now in trees()) {
            let change = base.diff(&now);
            prop_assert_eq!(&base.overlaid(&change), &now);
            prop_assert_eq!(change.is_empty(), base == now);
        }
    }

    #[test]
    fn a_length_beyond_the_end_allocates_nothing() {
        let mut bytes = Tree::new().canonical_bytes();
        bytes[0] = 1;
        bytes.extend_from_slice(&[1, 0, 0, 0, b'a', FILE, 0, 0, 0, 0]);
        bytes.extend_from_slice(&u64::MAX.to_le_bytes());
        assert!(matches!(
            Tree::from_canonical(&bytes),
            Err(CanonicalError::Truncated { needed: u64::MAX, .. })
        ));
    }

    #[test]
    fn the_layout_does_not_move() {
        let mut tree = Tree::new();
        tree.insert_file("b", "hi").unwrap();
        tree.insert("a", Entry::Link { target: "b".into() }).unwrap();
        tree.insert("c", Entry::Absent).unwrap();
        let expected: &[u8] = b"\x03\0\0\0\x01\0\0\0a\x01\x01\0\0\0b\x01\0\0\0b\x00\xa4\x01\0\0\x02\0\0\0\0\0\0\0hi\x01\0\0\0c\x02";
        assert_eq!(tree.canonical_bytes(), expected);
    }
}
