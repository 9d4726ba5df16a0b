//! Optimiser steps.
//!
//! A step goes over its sequences in micro-batches. In each, sequences go forward and backward side by side, a thread
//! each; then all threads share out the weights' gradients, whose chains continue from micro-batch to micro-batch.

use super::super::{Averaging, Objective, SequenceReport, StepReport, TrainBatch, TrainSequence};
use super::super::{Trainer, TrainerConfig};
use super::{check_sequence, check_temperature, fault_at};
use crate::dppo::{Tally, Tokens};
use crate::error::ArithmeticError;
use crate::optim::{Average, OptimError, Optimiser, StateError};
use crate::pool::Pool;
use crate::transformer::{GradientScratch, Gradients, Model, Purpose, Scratch, SequenceWork};
use crate::vector::Isa;
use crate::weights::Weights;
use core::cmp::Reverse;

/// Tokens of a micro-batch, more or less: enough for all threads, few enough for memory.
const MICRO_TOKENS: usize = 2048;
/// First bytes of a saved state, then the version of its layout.
const MAGIC: [u8; 8] = *b"TADTRN\0\x01";

/// Weights, optimiser and the memory of a step.
pub(super) struct CpuTrainer {
    model: Model,
    pool: Pool,
    optimiser: Optimiser,
    average: Option<Average>,
    works: Vec<SequenceWork>,
    scratch: Vec<Scratch>,
    gradient_scratch: GradientScratch,
    pub(super) micro_tokens: usize,
}

impl CpuTrainer {
    pub(super) fn new(
        weights: Weights,
        isa: Isa,
        pool: Pool,
        config: &TrainerConfig,
    ) -> Result<Self, ArithmeticError> {
        weights.check_finite()?;
        let optimiser =
            Optimiser::new(config.optimiser, weights.specs()).map_err(|error| step_error(&error))?;
        let average = match config.averaging {
            Averaging::Off => None,
            Averaging::From(step) => Some(Average::new(step, weights.values().len())),
        };
        Ok(Self {
            model: Model::new(weights, isa, Purpose::Training),
            pool,
            optimiser,
            average,
            works: Vec::new(),
            scratch: Vec::new(),
            gradient_scratch: GradientScratch::default(),
            micro_tokens: MICRO_TOKENS,
        })
    }

    /// Takes up a saved state.
    pub(super) fn take_up(&mut self, bytes: &[u8]) -> Result<(), ArithmeticError> {
        let bad = |error: StateError| ArithmeticError::State(error.to_string());
        let rest = bytes.strip_prefix(&MAGIC).ok_or_else(|| bad(StateError::Magic))?;
        let (weights, rest) = take_part(rest).ok_or_else(|| bad(StateError::Short))?;
        let (moments, rest) = take_part(rest).ok_or_else(|| bad(StateError::Short))?;
        let (mean, rest) = take_part(rest).ok_or_else(|| bad(StateError::Short))?;
        if !rest.is_empty() {
            return Err(bad(StateError::Long(rest.len())));
        }
        let weights = Weights::from_canonical(weights)?;
        if weights.shape() != self.model.shape() {
            return Err(ArithmeticError::State("it is of another shape".to_owned()));
        }
        self.optimiser.restore(moments).map_err(bad)?;
        match &mut self.average {
            Some(average) => average.restore(mean).map_err(bad)?,
            None if mean.is_empty() => {}
            None => return Err(ArithmeticError::State("it holds a mean that is not wanted".to_owned())),
        }
        self.model.weights = weights;
        self.model.repack();
        Ok(())
    }

    fn check(&self, batch: &TrainBatch, objective: &Objective, rate: f32) -> Result<(), ArithmeticError> {
        check_temperature(batch.temperature, false)?;
        if !(rate.is_finite() && rate >= 0.0) {
            return Err(ArithmeticError::Parameter { name: "learning rate", value: rate });
        }
        for (index, sequence) in batch.sequences.iter().enumerate() {
            check_sequence(self.model.shape(), index, &sequence.sequence)?;
            let refuse = |reason| Err(ArithmeticError::Sequence { sequence: index, reason });
            if !(sequence.weight.is_finite() && sequence.weight >= 0.0) {
                return refuse("its weight is not a finite number of at least 0");
            }
            let count = sequence.sequence.target_count();
            let dppo = matches!(objective, Objective::Dppo(_));
            if dppo && (sequence.advantages.len() != count || sequence.rollout_log_probs.len() != count) {
                return refuse("not one advantage and one rollout log-probability a target");
            }
        }
        if batch.sequences.iter().all(|sequence| sequence.sequence.target_count() == 0) {
            return Err(ArithmeticError::Sequence { sequence: 0, reason: "the batch has no target" });
        }
        Ok(())
    }

    /// The gradients of a batch that has been checked, and what was found.
    pub(super) fn gradients(
        &mut self,
        batch: &TrainBatch,
        objective: &Objective,
    ) -> Result<(Weights, Vec<SequenceReport>, Tally), ArithmeticError> {
        let n_tokens = batch.sequences.iter().map(|one| one.sequence.target_count() as u64).sum();
        let mut gradients = Gradients::new(self.model.shape())?;
        let mut reports: Vec<(SequenceReport, Tally)> = Vec::new();
        reports.resize_with(batch.sequences.len(), Default::default);
        let mut first = 0;
        while first < batch.sequences.len() {
            let count = self.micro_batch(&batch.sequences[first..]);
            while self.works.len() < count {
                self.works.push(SequenceWork::new(self.model.shape()));
            }
            let mut items: Vec<Item<'_>> = Vec::new();
            for (offset, report) in reports[first..first + count].iter_mut().enumerate() {
                items.push(Item { index: first + offset, report });
            }
            // The longest first: threads end together, and the first memory is always the largest.
            items.sort_by_key(|item| Reverse(batch.sequences[item.index].sequence.tokens.len()));
            let order: Vec<usize> = items.iter().map(|item| item.index - first).collect();
            let pass = Pass { model: &self.model, batch, objective, n_tokens };
            let works: Vec<(Item<'_>, &mut SequenceWork)> = items.into_iter().zip(&mut self.works).collect();
            self.pool
                .for_each(&mut self.scratch, works, |scratch, (item, work)| pass.run(item, work, scratch))?;
            let mut works: Vec<(usize, &SequenceWork)> = order.into_iter().zip(&self.works).collect();
            works.sort_by_key(|&(index, _)| index);
            let works: Vec<&SequenceWork> = works.into_iter().map(|(_, work)| work).collect();
            gradients.add(&self.model, &works, self.pool, &mut self.gradient_scratch)?;
            first += count;
        }
        let mut total = Tally::default();
        for (_, tally) in &reports {
            merge(&mut total, tally);
        }
        Ok((gradients.finish(), reports.into_iter().map(|(report, _)| report).collect(), total))
    }

    /// How many of these sequences the next micro-batch takes.
    fn micro_batch(&self, sequences: &[TrainSequence]) -> usize {
        let mut tokens = 0;
        for (count, sequence) in sequences.iter().enumerate() {
            tokens += sequence.sequence.tokens.len();
            if tokens > self.micro_tokens {
                return count.max(1);
            }
        }
        sequences.len()
    }
}

impl Trainer for CpuTrainer {
    fn step(
        &mut self,
        batch: &TrainBatch,
        objective: &Objective,
        rate: f32,
    ) -> Result<StepReport, ArithmeticError> {
        self.check(batch, objective, rate)?;
        let (gradients, sequences, tally) = self.gradients(batch, objective)?;
        let isa = self.model.isa;
        let facts = self
            .optimiser
            .step(self.model.weights.values_mut(), gradients.values(), rate, isa)
            .map_err(|error| step_error(&error))?;
        self.model.repack();
        if let Some(average) = &mut self.average {
            average
                .observe(self.model.weights.values())
                .map_err(|error| ArithmeticError::Step(error.to_string()))?;
        }
        let entropies = sequences.iter().flat_map(|report| &report.entropies);
        Ok(StepReport {
            loss: tally.loss(tally.tokens),
            tokens: tally.tokens,
            kept: tally.kept,
            gradient_norm: facts.gradient_norm,
            gradient_scale: facts.gradient_scale,
            ratio_max: tally.ratio_max,
            kl_sum: tally.kl_sum,
            entropy_sum: entropies.fold(0.0, |sum, &entropy| sum + f64::from(entropy)),
            sequences,
        })
    }

    fn weights(&self) -> &Weights {
        &self.model.weights
    }

    fn averaged_weights(&self) -> Result<Weights, ArithmeticError> {
        match self.average.as_ref().and_then(Average::mean) {
            Some(mean) => Ok(Weights::from_values(self.model.shape(), mean.to_vec())?),
            None => Ok(self.model.weights.clone()),
        }
    }

    fn averaged_steps(&self) -> u64 {
        self.average.as_ref().map_or(0, Average::count)
    }

    fn restart(&mut self, weights: &Weights) -> Result<(), ArithmeticError> {
        if weights.shape() != self.model.shape() {
            return Err(ArithmeticError::State("the weights are of another shape".to_owned()));
        }
        weights.check_finite()?;
        self.model.weights = weights.clone();
        self.model.repack();
        if let Some(average) = &mut self.average {
            average.reset();
        }
        Ok(())
    }

    fn steps(&self) -> u64 {
        self.optimiser.steps()
    }

    fn reset_optimiser(&mut self) {
        self.optimiser.reset();
        if let Some(average) = &mut self.average {
            average.reset();
        }
    }

    /// `TADTRN\0` and the layout's version, 1 (8 bytes); then weights, moments and mean, each with its length in bytes in
    /// front (u64, little-endian); without averaging the mean is empty.
    fn state_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let mean = self.average.as_ref().map_or_else(Vec::new, Average::state_bytes);
        for part in [self.model.weights.canonical_bytes(), self.optimiser.state_bytes(), mean] {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(&part);
        }
        bytes
    }
}

/// A part with its length in front, and what follows it.
fn take_part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&len, rest) = bytes.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(len)).ok()?)
}

fn step_error(error: &OptimError) -> ArithmeticError {
    ArithmeticError::Step(error.to_string())
}

/// One sequence of a micro-batch.
struct Item<'a> {
    index: usize,
    report: &'a mut (SequenceReport, Tally),
}

/// Forward, objective, backward of one sequence.
struct Pass<'a> {
    model: &'a Model,
    batch: &'a TrainBatch,
    objective: &'a Objective,
    n_tokens: u64,
}

impl Pass<'_> {
    fn run(
        &self,
        item: Item<'_>,
        work: &mut SequenceWork,
        scratch: &mut Scratch,
    ) -> Result<(), ArithmeticError> {
        let Item { index, report } = item;
        let TrainSequence { sequence, advantages, rollout_log_probs, weight } = &self.batch.sequences[index];
        let (model, temperature) = (self.model, self.batch.temperature);
        let found = model
            .forward_sequence(&sequence.tokens, &sequence.targets, temperature, work, scratch)
            .map_err(|fault| fault_at(fault, index))?;
        let mut tally = Tally::default();
        let (mut gradients, keep) = match self.objective {
            Objective::CrossEntropy => self.cross_entropy(&found.log_probs, *weight, &mut tally),
            Objective::Dppo(params) => {
                let tokens = Tokens {
                    new_lp: &found.log_probs,
                    rollout_lp: rollout_log_probs,
                    advantages,
                    mask: None,
                };
                let part = tokens
                    .gradients(self.n_tokens, params, &mut tally)
                    .map_err(|error| ArithmeticError::Dppo { sequence: index, error })?;
                (part.grad, part.keep)
            }
        };
        if matches!(self.objective, Objective::Dppo(_)) {
            tally.weighted_sum *= f64::from(*weight);
            for gradient in &mut gradients {
                *gradient *= weight;
            }
        }
        model.backward_sequence(&sequence.targets, &found, &gradients, temperature, work, scratch);
        *report = (SequenceReport { log_probs: found.log_probs, entropies: found.entropies, keep }, tally);
        Ok(())
    }

    /// Every target is kept; its gradient is `-weight / |T|`.
    fn cross_entropy(&self, log_probs: &[f32], weight: f32, tally: &mut Tally) -> (Vec<f32>, Vec<bool>) {
        let gradient = -(weight / self.n_tokens as f32);
        tally.tokens = log_probs.len() as u64;
        tally.kept = tally.tokens;
        tally.ratio_max = 1.0;
        for &log_prob in log_probs {
            tally.weighted_sum += f64::from(weight) * f64::from(log_prob);
        }
        (vec![gradient; log_probs.len()], vec![true; log_probs.len()])
    }
}

/// Adds a sequence's sums to those of the step.
fn merge(total: &mut Tally, part: &Tally) {
    total.tokens += part.tokens;
    total.kept += part.kept;
    total.weighted_sum += part.weighted_sum;
    total.kl_sum += part.kl_sum;
    if part.ratio_max > total.ratio_max {
        total.ratio_max = part.ratio_max;
    }
}
