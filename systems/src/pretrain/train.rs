//! The training loop.

use std::sync::Arc;

use tadpole_gpu::ArithmeticError;
use tadpole_gpu::backend::{Backend, Objective, Sequence, TrainBatch, TrainSequence, Trainer, TrainerConfig};
use tadpole_gpu::optim::{Algorithm, MuonConfig, OptimiserConfig};
use tadpole_gpu::weights::{Initial, Weights, WeightsError};
use tadpole_kernel::draws::{Stream, StreamKey};
use tadpole_kernel::id::Digest;
use tadpole_scenarios::schema::PretrainScenario;

use super::corpus::{Corpus, CorpusError};
use super::schedule::{rate_factor, steps_by_stage};
use crate::assembly::model_shape;
use crate::codec::Hermes;
use crate::harness::leaf::TOOLS;
use crate::tokenizer::{TokenizerError, TrainError, train};

/// Why pre-training stopped.
#[derive(Debug, thiserror::Error)]
pub enum PretrainError {
    /// A demonstration could not be made.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The tokenizer could not be trained.
    #[error("the tokenizer cannot be trained: {0}")]
    TrainTokenizer(#[from] TrainError),
    /// The tokenizer could not be loaded.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// The weights were refused.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A step was refused.
    #[error("step {step}: {error}")]
    Step {
        /// Which step, from 0.
        step: u64,
        /// Why.
        #[source]
        error: ArithmeticError,
    },
    /// The arithmetic cannot run here.
    #[error(transparent)]
    Arithmetic(#[from] ArithmeticError),
}

/// Steps at the start whose weights are all named, so that a test that takes few steps has something to compare.
const FIRST_STEPS_NAMED: u64 = 3;

/// One optimiser step of pre-training.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct StepRecord {
    /// Which step, from 0 over all stages.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
    /// Name of the stage.
    pub stage: String,
    /// Tokens of the batch, context included.
    pub tokens: u64,
    /// Mean cross-entropy of the demonstrated tokens, nats.
    pub loss: f64,
    /// Digest of the weights after the step: after each of the first steps, every `digest_every` steps and at the end.
    pub weights: Option<Digest>,
}

/// What pre-training made.
#[derive(Clone, Debug)]
pub struct Pretrained {
    /// The weights.
    pub weights: Weights,
    /// The `tokenizer.json`.
    pub tokenizer: Vec<u8>,
}

/// Text of the tokenizer, then the tokenizer: the `tokenizer.json`.
pub fn train_tokenizer(scenario: &PretrainScenario, corpus: &Corpus) -> Result<Vec<u8>, PretrainError> {
    let texts = corpus.tokenizer_texts(scenario.tokenizer.projects)?;
    let scaffold = Hermes::scaffold(TOOLS);
    Ok(train(texts.iter().map(|text| (text.as_str(), 1)), scenario.tokenizer.vocab, &scaffold)?)
}

/// Pre-training under way.
pub struct Pretraining<'a> {
    scenario: &'a PretrainScenario,
    corpus: Corpus,
    trainer: Box<dyn Trainer>,
    tokenizer: Vec<u8>,
    stage_steps: Vec<u64>,
    step: u64,
}

impl<'a> Pretraining<'a> {
    /// Trains the tokenizer and starts from fresh weights.
    pub fn start(
        scenario: &'a PretrainScenario,
        backend: &Arc<dyn Backend>,
        mut corpus: Corpus,
    ) -> Result<Self, PretrainError> {
        let tokenizer = train_tokenizer(scenario, &corpus)?;
        corpus.read_with(&tokenizer)?;
        let mut stream = Stream::new(scenario.seed, &StreamKey::new("initial weights"));
        let initial = Initial { qk_gain: scenario.shape.qk_gain, ..Initial::default() };
        let weights = Weights::init(&model_shape(&scenario.shape), initial, &mut || stream.next_u64())?;
        let trainer = backend.trainer(&weights, &TrainerConfig::plain(optimiser(scenario)))?;
        Ok(Self { scenario, corpus, trainer, tokenizer, stage_steps: steps_by_stage(scenario), step: 0 })
    }

    /// Steps in all.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.stage_steps.iter().sum()
    }

    /// Takes the next step; `None` when there is none.
    pub fn step(&mut self) -> Result<Option<StepRecord>, PretrainError> {
        let Some(stage) = self.stage() else { return Ok(None) };
        let (step, steps) = (self.step, self.steps());
        let batch = self.batch(stage)?;
        let tokens = batch.sequences.iter().map(|one| one.sequence.tokens.len() as u64).sum();
        let rate = self.scenario.optimiser.adamw_rate * rate_factor(self.scenario, step, steps);
        let report = self
            .trainer
            .step(&batch, &Objective::CrossEntropy, rate)
            .map_err(|error| PretrainError::Step { step, error })?;
        self.step += 1;
        let named = self.step <= FIRST_STEPS_NAMED
            || self.step == steps
            || self.step.is_multiple_of(u64::from(self.scenario.digest_every));
        Ok(Some(StepRecord {
            step,
            steps,
            stage: self.scenario.stages[stage].name.clone(),
            tokens,
            loss: report.loss,
            weights: if named { Some(Digest(self.trainer.weights()?.digest())) } else { None },
        }))
    }

    /// The weights as they are.
    pub fn weights(&self) -> Result<&Weights, PretrainError> {
        Ok(self.trainer.weights()?)
    }

    /// What was made so far.
    pub fn finish(self) -> Result<Pretrained, PretrainError> {
        Ok(Pretrained { weights: self.trainer.weights()?.clone(), tokenizer: self.tokenizer })
    }

    /// Index of the stage that the next step belongs to.
    fn stage(&self) -> Option<usize> {
        let mut before = 0;
        self.stage_steps.iter().position(|steps| {
            before += steps;
            self.step < before
        })
    }

    fn batch(&mut self, stage: usize) -> Result<TrainBatch, PretrainError> {
        let demonstrations = self.corpus.batch(stage, self.scenario.batch_tokens)?;
        let sequences = demonstrations
            .into_iter()
            .map(|one| TrainSequence {
                sequence: Sequence { tokens: one.tokens, targets: one.spans },
                advantages: Vec::new(),
                rollout_log_probs: Vec::new(),
                weight: 1.0,
            })
            .collect();
        Ok(TrainBatch { sequences, temperature: 1.0 })
    }
}

/// Muon for matrices, `AdamW` for the rest.
fn optimiser(scenario: &PretrainScenario) -> OptimiserConfig {
    let optimiser = &scenario.optimiser;
    OptimiserConfig {
        algorithm: Algorithm::Muon,
        beta1: optimiser.beta1,
        beta2: optimiser.beta2,
        epsilon: optimiser.epsilon,
        weight_decay: optimiser.weight_decay,
        clip_norm: Some(optimiser.clip),
        muon: MuonConfig {
            momentum: optimiser.muon_momentum,
            newton_steps: optimiser.newton_steps,
            rate_ratio: optimiser.muon_rate / optimiser.adamw_rate,
        },
    }
}
