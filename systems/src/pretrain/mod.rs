//! Makes the base policy and its tokenizer: the stand-in for a downloaded base model. Deterministic, like a run.
//!
//! Scripted experts play episodes on training projects through the real harness and sandbox, imperfectly; the policy learns to
//! predict what they wrote. Held-out projects are never drawn here, not even for the tokenizer's text.

mod corpus;
pub mod demonstration;
mod schedule;
mod train;

pub use corpus::{Corpus, CorpusError};
pub use schedule::{rate_factor, steps_by_stage};
pub use train::{PretrainError, Pretrained, Pretraining, StepRecord, train_tokenizer};

use std::sync::Arc;

use tadpole_scenarios::schema::{PretrainScenario, Sandbox as SandboxKeys};

use crate::assembly::{leaf_config, limits};
use crate::capability::Judge;
use crate::codec::Hermes;
use crate::harness::leaf::{Leaf, TOOLS};
use crate::sandbox::Sandbox;
use demonstration::Demonstrator;

/// The stream of demonstrations of `scenario`, played in `sandbox` on `threads` threads.
#[must_use]
pub fn corpus(scenario: &Arc<PretrainScenario>, sandbox: Arc<dyn Sandbox>, threads: usize) -> Corpus {
    let limits = limits(&SandboxKeys::default());
    let codec = Arc::new(Hermes::new(TOOLS));
    let leaf = Leaf::new(leaf_config(&scenario.harness, limits.clone()), codec.clone());
    let judge = Judge { sandbox, limits };
    let demonstrator = Demonstrator::new(Arc::new(leaf), codec, judge, scenario.world.clone());
    Corpus::new(Arc::clone(scenario), demonstrator, threads)
}
