//! Answers that were given before.
//!
//! The members of a group begin alike: they run the same tests on the same repository, look at the same function, and often
//! arrive at the same patch. An outcome is a function of the request alone, so asking again can only cost time.

use std::fmt;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// The digest of a request.
type Key = [u8; 32];

/// The latest answers, as bytes, up to a total size.
pub(super) struct Memo {
    answers: Cache<Key, Vec<u8>, ByLength>,
}

/// A small request's answer, for the first guess of how many there will be room for.
const TYPICAL_BYTES: u64 = 1_024;

#[derive(Clone)]
struct ByLength;

impl Weighter<Key, Vec<u8>> for ByLength {
    fn weight(&self, _: &Key, answer: &Vec<u8>) -> u64 {
        (size_of::<Key>() + answer.len()) as u64
    }
}

impl Memo {
    /// Room for `bytes` bytes of answers.
    pub(super) fn new(bytes: u64) -> Self {
        let items = usize::try_from(bytes / TYPICAL_BYTES).unwrap_or(usize::MAX);
        Self { answers: Cache::with_weighter(items, bytes, ByLength) }
    }

    /// The answer to `request`, if it is still known.
    pub(super) fn recall(&self, request: &[u8]) -> Option<Vec<u8>> {
        self.answers.get(&key(request))
    }

    /// Keeps an answer, which must not depend on the machine.
    pub(super) fn keep(&self, request: &[u8], answer: Vec<u8>) {
        self.answers.insert(key(request), answer);
    }
}

fn key(request: &[u8]) -> Key {
    *blake3::hash(request).as_bytes()
}

impl fmt::Debug for Memo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Memo").field("answers", &self.answers.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_recalled_for_its_request_alone() {
        let memo = Memo::new(1 << 16);
        memo.keep(b"ls", b"shop.py".to_vec());
        assert_eq!(memo.recall(b"ls").as_deref(), Some(b"shop.py".as_slice()));
        assert_eq!(memo.recall(b"ls "), None);
    }

    #[test]
    fn answers_never_hold_more_than_their_room() {
        let memo = Memo::new(1 << 16);
        for number in 0..1_000_u32 {
            memo.keep(&number.to_le_bytes(), vec![0; 1_000]);
        }
        assert!(memo.answers.weight() <= 1 << 16, "{}", memo.answers.weight());
        assert!((0..1_000_u32).any(|number| memo.recall(&number.to_le_bytes()).is_some()));
    }
}
