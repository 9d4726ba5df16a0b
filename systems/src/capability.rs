//! What deciders are given beside the world: the recipe, a judge, policies by digest. Capabilities hold no state that a
//! decision depends on.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use bevy_ecs::prelude::Resource;
use tadpole_gpu::backend::{Backend, Policy};
use tadpole_gpu::weights::Weights;
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::{Context, DecideError};
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::id::Digest;
use tadpole_scenarios::schema::Scenario;

use crate::sandbox::{Limits, Sandbox, Witness};

/// The scenario, as deciders read it.
#[derive(Resource, Clone, Debug)]
pub struct Recipe {
    scenario: Arc<Scenario>,
    threads: usize,
}

impl Recipe {
    /// The recipe of a run on `threads` threads.
    #[must_use]
    pub fn new(scenario: Arc<Scenario>, threads: usize) -> Self {
        Self { scenario, threads }
    }

    /// Threads that a decision may use; changes how fast, never what.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }
}

impl Deref for Recipe {
    type Target = Scenario;

    fn deref(&self) -> &Scenario {
        &self.scenario
    }
}

/// Runs code that nobody vouches for.
#[derive(Resource, Clone)]
pub struct Judge {
    /// Where it runs.
    pub sandbox: Arc<dyn Sandbox>,
    /// What a run of it may use.
    pub limits: Limits,
}

impl Judge {
    /// The same judge under watch: verdicts that depend on the machine are recorded as effects.
    #[must_use]
    pub fn witnessed(&self, effects: &EffectStore) -> (Self, Witness) {
        let witness = Witness::new(Arc::clone(&self.sandbox), effects.clone());
        (Self { sandbox: Arc::new(witness.clone()), limits: self.limits.clone() }, witness)
    }
}

/// Policies ready to be played, by the digest of their weights. The last few stay loaded.
#[derive(Resource, Clone)]
pub struct Shelf {
    backend: Arc<dyn Backend>,
    loaded: Arc<Mutex<VecDeque<Loaded>>>,
}

/// A policy and the digest of its weights.
type Loaded = (Digest, Arc<dyn Policy>);

/// Policies that stay loaded: a published one and those that a lag can ask for.
const LOADED_MAX: usize = 4;

impl Shelf {
    /// Policies of `backend`.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend, loaded: Arc::default() }
    }

    /// The policy with these weights.
    ///
    /// # Errors
    /// Where the blob is missing or damaged, or holds no weights.
    pub fn policy(&self, weights: Digest, blobs: &BlobReader) -> Result<Arc<dyn Policy>, DecideError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, policy)) = loaded.iter().find(|(digest, _)| *digest == weights) {
            return Ok(Arc::clone(policy));
        }
        let tensors = read_weights(weights, blobs)?;
        let policy = self.backend.load(&tensors).context("loading a policy")?;
        loaded.push_front((weights, Arc::clone(&policy)));
        loaded.truncate(LOADED_MAX);
        Ok(policy)
    }
}

/// Reads weights from the blob store.
pub(crate) fn read_weights(digest: Digest, blobs: &BlobReader) -> Result<Weights, DecideError> {
    let bytes = blobs.read(digest).context("reading weights")?;
    Weights::from_canonical(&bytes).context(format!("decoding weights {digest}"))
}
