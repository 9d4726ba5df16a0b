//! Effects: answers from outside, stored before they are used and never asked for twice.
//!
//! The key is a digest of kind and request. `effects/ab/cdef...` holds the answer behind its own digest. A crash before
//! the answer is durable asks again; after that, run, resume, replay and verify are served from the store.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bevy_ecs::prelude::Resource;

use crate::event::{EffectRecordedV1, Event};
use crate::id::Digest;
use crate::storage::{Storage, list_shelved, sweep_shelves, write_aside};

const DIR: &str = "effects";
const KEY_DOMAIN: &str = "tadpole 2026 effect request v1";

/// Why an effect could not be served.
#[derive(Debug, thiserror::Error)]
pub enum EffectError {
    /// The answer was never recorded, and this run may not ask (it is being verified or replayed).
    #[error("no answer to {kind} request {request} is recorded")]
    Unrecorded {
        /// Kind of outside.
        kind: String,
        /// Digest of kind and request.
        request: Digest,
    },
    /// A recorded answer is damaged. It is not asked for again: the run has used it.
    #[error("the recorded answer to request {request} is corrupt")]
    Corrupt {
        /// Digest of kind and request.
        request: Digest,
    },
    /// Outside did not answer.
    #[error("asking {kind}: {source}")]
    Asked {
        /// Kind of outside.
        kind: String,
        /// What happened.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An answer could not be stored before: whether it is durable is unknown, so none is served any more.
    #[error("the effect store is poisoned by an earlier failure to write; open the run again")]
    Poisoned,
    /// The medium failed.
    #[error("effect store: {0}")]
    Io(#[from] io::Error),
}

/// An answer, and the event that must stand in the decision that uses it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What outside said.
    pub bytes: Vec<u8>,
    /// The fact that it was used.
    pub event: Event,
}

/// Whether outside may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asking {
    Allowed,
    Forbidden,
}

/// The effects of a run, as a capability: a system takes `Res<EffectStore>`.
#[derive(Resource, Clone, Debug)]
pub struct EffectStore {
    storage: Arc<dyn Storage>,
    asking: Asking,
    in_flight: Arc<(Mutex<BTreeSet<Digest>>, Condvar)>,
    poisoned: Arc<AtomicBool>,
}

impl EffectStore {
    pub(crate) fn new(storage: Arc<dyn Storage>, asking: Asking) -> Self {
        Self { storage, asking, in_flight: Arc::default(), poisoned: Arc::default() }
    }

    /// The answer to `request`: the recorded one, or what `ask` says, recorded durably before it is returned. Safe to call
    /// from many threads; one request is asked once even then.
    pub fn serve<E>(
        &self,
        kind: &str,
        request: &[u8],
        ask: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Answer, EffectError>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let key = key(kind, request);
        let _turn = self.take_turn(key);
        if self.poisoned.load(Ordering::SeqCst) {
            return Err(EffectError::Poisoned);
        }
        if let Some(bytes) = self.recorded(key)? {
            return Ok(answer(kind, key, bytes));
        }
        if self.asking == Asking::Forbidden {
            return Err(EffectError::Unrecorded { kind: kind.to_owned(), request: key });
        }
        let bytes =
            ask().map_err(|error| EffectError::Asked { kind: kind.to_owned(), source: error.into() })?;
        if let Err(error) = self.record(key, &bytes) {
            self.poisoned.store(true, Ordering::SeqCst);
            return Err(error);
        }
        Ok(answer(kind, key, bytes))
    }

    /// The recorded answer to `request`, if there is one.
    pub fn lookup(&self, kind: &str, request: &[u8]) -> Result<Option<Vec<u8>>, EffectError> {
        self.recorded(key(kind, request))
    }

    /// The recorded answer to the request of digest `key`.
    pub(crate) fn recorded(&self, key: Digest) -> Result<Option<Vec<u8>>, EffectError> {
        let stored = match self.storage.read(&name(key)) {
            Ok(stored) => stored,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let (digest, bytes) =
            stored.split_first_chunk::<32>().ok_or(EffectError::Corrupt { request: key })?;
        if Digest(*digest) != seal(key, bytes) {
            return Err(EffectError::Corrupt { request: key });
        }
        Ok(Some(bytes.to_vec()))
    }

    /// Stores an answer durably.
    pub(crate) fn record(&self, key: Digest, bytes: &[u8]) -> Result<(), EffectError> {
        let shelf = shelf(key);
        self.storage.make_dir(&shelf)?;
        let stored = [seal(key, bytes).0.as_slice(), bytes].concat();
        write_aside(self.storage.as_ref(), &name(key), &stored)?;
        self.storage.sync_dir(&shelf)?;
        Ok(())
    }

    /// Digests of all requests with a recorded answer, ascending.
    pub(crate) fn list(&self) -> Result<BTreeSet<Digest>, EffectError> {
        Ok(list_shelved(self.storage.as_ref(), DIR)?)
    }

    /// Removes what a crash left half-written, and makes durable what it left whole: an answer that can be read is served.
    pub(crate) fn sweep(&self) -> Result<(), EffectError> {
        Ok(sweep_shelves(self.storage.as_ref(), DIR)?)
    }

    /// Waits until nobody else serves `key`.
    fn take_turn(&self, key: Digest) -> Turn<'_> {
        let (lock, freed) = &*self.in_flight;
        let mut keys = held(lock);
        while keys.contains(&key) {
            keys = freed.wait(keys).unwrap_or_else(PoisonError::into_inner);
        }
        keys.insert(key);
        Turn { store: self, key }
    }
}

/// The right to serve one key; given back when dropped.
struct Turn<'a> {
    store: &'a EffectStore,
    key: Digest,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let (lock, freed) = &*self.store.in_flight;
        held(lock).remove(&self.key);
        freed.notify_all();
    }
}

fn held(lock: &Mutex<BTreeSet<Digest>>) -> MutexGuard<'_, BTreeSet<Digest>> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(kind: &str, request: Digest, bytes: Vec<u8>) -> Answer {
    let answer = Digest::of(&bytes);
    let event = Event::EffectRecorded(EffectRecordedV1 { kind: kind.to_owned(), request, answer });
    Answer { bytes, event }
}

/// Digest of kind and request.
fn key(kind: &str, request: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key(KEY_DOMAIN);
    hasher.update(&(kind.len() as u64).to_le_bytes());
    hasher.update(kind.as_bytes());
    hasher.update(request);
    Digest(*hasher.finalize().as_bytes())
}

/// Digest over key and answer: a stored answer cannot stand under another key.
fn seal(key: Digest, bytes: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&key.0);
    hasher.update(bytes);
    Digest(*hasher.finalize().as_bytes())
}

fn shelf(key: Digest) -> String {
    format!("{DIR}/{}", &key.to_hex()[..2])
}

fn name(key: Digest) -> String {
    let hex = key.to_hex();
    format!("{DIR}/{}/{}", &hex[..2], &hex[2..])
}
