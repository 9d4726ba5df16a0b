//! What runs a policy: loading, decoding, scoring and training behind one set of traits.
//!
//! Every implementation has the bits of the CPU's, which has those of the scalar specification. Results do not depend
//! on which other sequences a call holds, on how work is cut into calls, or on the number of threads: decoding one token
//! at a time gives the logits of prefilling at once, and a rollout's log-probabilities are the trainer's.

pub(crate) mod check;
mod cpu;
pub(crate) mod objective;
pub(crate) mod state;
mod types;

use crate::error::ArithmeticError;
use crate::optim::OptimiserConfig;
use crate::shape::ModelShape;
use crate::weights::Weights;
use std::sync::Arc;

pub use cpu::CpuBackend;
pub use types::{
    Averaging, Logits, Objective, Scores, Sequence, SequenceReport, StepReport, TrainBatch, TrainSequence,
    TrainerConfig,
};

/// A place where policies run.
pub trait Backend: Send + Sync {
    /// What it is, for people: device, instruction set, threads.
    fn describe(&self) -> String;

    /// Makes weights ready to decode and score.
    fn load(&self, weights: &Weights) -> Result<Arc<dyn Policy>, ArithmeticError>;

    /// A trainer that starts from these weights.
    fn trainer(&self, weights: &Weights, config: &TrainerConfig)
    -> Result<Box<dyn Trainer>, ArithmeticError>;

    /// A trainer as it was when [`Trainer::state_bytes`] was called. `shape` and `config` are those it had.
    fn restore(
        &self,
        state: &[u8],
        shape: &ModelShape,
        config: &TrainerConfig,
    ) -> Result<Box<dyn Trainer>, ArithmeticError>;
}

/// Weights ready to use; any number of threads may share them.
pub trait Policy: Send + Sync {
    /// The shape.
    fn shape(&self) -> &ModelShape;

    /// A decoder with this many slots. It works on the thread that calls it: a thread that decodes has its own.
    fn decoder(&self, slots: usize) -> Box<dyn Decoder>;

    /// Log-probability and entropy of every target of every sequence, by prefill, on all threads of the backend.
    /// At temperature 0 the distribution is that of greedy decoding.
    fn score(&self, sequences: &[Sequence], temperature: f32) -> Result<Vec<Scores>, ArithmeticError>;
}

/// Sequences that grow, one a slot.
pub trait Decoder: Send {
    /// Number of slots.
    fn slots(&self) -> usize;

    /// Positions that a slot holds; 0 for a slot that does not exist.
    fn len(&self, slot: usize) -> usize;

    /// Empties a slot.
    fn reset(&mut self, slot: usize) -> Result<(), ArithmeticError>;

    /// Makes slot `to` hold what slot `from` holds; memory is shared as far as possible.
    fn fork(&mut self, from: usize, to: usize) -> Result<(), ArithmeticError>;

    /// Appends tokens to slots, at least one each, and returns the logits of each one's last position, in the order of
    /// `work`. In an error, `sequence` is an index into `work`; the slots that `work` names must then be reset.
    fn extend(&mut self, work: &[(usize, &[u32])]) -> Result<Logits<'_>, ArithmeticError>;

    /// Appends tokens to a slot and puts the logits behind those of them that `wanted` (places in `tokens`, ascending)
    /// names into `logits`, a row each: for a history that is known beforehand. In an error, `sequence` is 0; the slot must
    /// then be reset.
    ///
    /// This body is the definition; an implementation may prefill at once instead.
    fn read(
        &mut self,
        slot: usize,
        tokens: &[u32],
        wanted: &[usize],
        logits: &mut Vec<f32>,
    ) -> Result<(), ArithmeticError> {
        check::check_wanted(tokens, wanted)?;
        logits.clear();
        let mut rest = 0;
        for &place in wanted {
            logits.extend_from_slice(self.extend(&[(slot, &tokens[rest..=place])])?.values);
            rest = place + 1;
        }
        if rest < tokens.len() {
            self.extend(&[(slot, &tokens[rest..])])?;
        }
        Ok(())
    }
}

/// Weights that learn.
pub trait Trainer: Send {
    /// One optimiser step at this learning rate. In an error, `sequence` is an index into the batch; nothing has changed,
    /// except after [`ArithmeticError::Step`], after which the trainer must not be used again.
    fn step(
        &mut self,
        batch: &TrainBatch,
        objective: &Objective,
        rate: f32,
    ) -> Result<StepReport, ArithmeticError>;

    /// The weights now.
    fn weights(&self) -> Result<&Weights, ArithmeticError>;

    /// The mean of the weights after each step that [`Averaging`] takes in; the weights now, before the first.
    fn averaged_weights(&self) -> Result<Weights, ArithmeticError>;

    /// How many steps entered that mean.
    fn averaged_steps(&self) -> u64;

    /// Goes on from other weights of the same shape: moments stay, the mean starts again.
    fn restart(&mut self, weights: &Weights) -> Result<(), ArithmeticError>;

    /// Optimiser steps since the start or the last [`Trainer::reset_optimiser`].
    fn steps(&self) -> u64;

    /// Forgets all moments and the mean: the next step is as the first.
    fn reset_optimiser(&mut self) -> Result<(), ArithmeticError>;

    /// Weights, moments and mean as canonical bytes.
    fn state_bytes(&self) -> Result<Vec<u8>, ArithmeticError>;
}

impl TrainerConfig {
    /// The optimiser alone: no averaging.
    pub fn plain(optimiser: OptimiserConfig) -> Self {
        Self { optimiser, averaging: Averaging::Off }
    }
}
