//! Blob directories that were changed.

use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestCaseError;
use tadpole_kernel::blob::{BlobError, BlobStore};
use tadpole_kernel::id::Digest;
use tadpole_kernel::storage::faulty::Machine;

/// One change to a stored blob.
#[derive(Clone, Debug)]
enum Change {
    Byte {
        at: Index,
        byte: u8,
    },
    Cut {
        at: Index,
    },
    Extend {
        bytes: Vec<u8>,
    },
    /// The content of another.
    Exchange {
        other: Index,
    },
}

/// A file that is no blob, beside them.
type Stray = (String, Vec<u8>);

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte { at, byte }),
        any::<Index>().prop_map(|at| Change::Cut { at }),
        vec(any::<u8>(), 1..40).prop_map(|bytes| Change::Extend { bytes }),
        any::<Index>().prop_map(|other| Change::Exchange { other }),
    ]
}

/// Fuzzes the store with directories of changed blobs and files that are none.
pub(super) fn fuzz(time: Duration, seed: u64) -> u64 {
    let blobs = vec(vec(any::<u8>(), 0..2_000), 1..6);
    let stray = ("[0-9a-fA-F]{1,3}(/[0-9a-fA-F]{0,64}(\\.tmp)?){1,2}|[a-z.é]{1,8}", vec(any::<u8>(), 0..50));
    let strategy = (blobs, vec((any::<Index>(), change()), 0..4), vec(stray, 0..3));
    super::until(time, seed, &strategy, |(blobs, changes, strays)| judge(&blobs, &changes, &strays))
}

/// What is read is what its name says, or an error; what was left alone is read; what is listed has a name of a blob.
fn judge(blobs: &[Vec<u8>], changes: &[(Index, Change)], strays: &[Stray]) -> Result<(), TestCaseError> {
    let mut stored = blobs.to_vec();
    for (which, change) in changes {
        let which = which.index(stored.len());
        match change {
            Change::Byte { at, byte } if !stored[which].is_empty() => *at.get_mut(&mut stored[which]) = *byte,
            Change::Byte { .. } => {}
            Change::Cut { at } => {
                let length = at.index(stored[which].len() + 1);
                stored[which].truncate(length);
            }
            Change::Extend { bytes } => stored[which].extend(bytes),
            Change::Exchange { other } => stored[which].clone_from(&blobs[other.index(blobs.len())]),
        }
    }
    let machine = Machine::new();
    for (blob, bytes) in blobs.iter().zip(&stored) {
        let hex = Digest::of(blob).to_hex();
        machine.put(&format!("blobs/{}/{}", &hex[..2], &hex[2..]), bytes.clone()).unwrap();
    }
    for (name, bytes) in strays {
        // One that cannot be there, for what is in its way, is not.
        machine.put(&format!("blobs/{name}"), bytes.clone()).ok();
    }
    let store = BlobStore::new(Arc::new(machine));
    for (blob, bytes) in blobs.iter().zip(&stored) {
        let digest = Digest::of(blob);
        match store.read(digest) {
            Ok(read) => prop_assert!(*read == **blob),
            Err(BlobError::Corrupt { name, content }) => {
                prop_assert!(name == digest && content == Digest::of(bytes) && bytes != blob);
            }
            // A directory of its name is in its place.
            Err(BlobError::Io { .. }) => prop_assert!(!strays.is_empty()),
            Err(error) => prop_assert!(false, "{error}"),
        }
    }
    match store.list() {
        Ok(listed) => {
            for digest in listed {
                prop_assert!(store.contains(digest).unwrap());
                let read = store.read(digest);
                prop_assert!(read.is_err() || Digest::of(&read.unwrap()) == digest);
            }
        }
        Err(error) => prop_assert!(!strays.is_empty(), "{error}"),
    }
    Ok(())
}
