//! Optimiser steps.
//!
//! A step goes over its sequences in micro-batches. In each, sequences go forward and backward side by side, a thread
//! each; then all threads share out the weights' gradients, whose chains continue from micro-batch to micro-batch.

use super::super::check::{MICRO_TOKENS, check_batch, fault_at, micro_batch};
use super::super::objective::{Judgement, judge, step_error, step_report, total};
use super::super::state;
use super::super::{Averaging, Objective, SequenceReport, StepReport, TrainBatch};
use super::super::{Trainer, TrainerConfig};
use crate::dppo::Tally;
use crate::error::ArithmeticError;
use crate::optim::{Average, Optimiser};
use crate::pool::Pool;
use crate::transformer::{GradientScratch, Gradients, Model, Purpose, Scratch, SequenceWork};
use crate::vector::Isa;
use crate::weights::Weights;
use core::cmp::Reverse;

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
        let average = self.average.as_mut();
        self.model.weights = state::read(bytes, self.model.shape(), &mut self.optimiser, average)?;
        self.model.repack();
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
            let count = micro_batch(&batch.sequences[first..], self.micro_tokens);
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
        let total = total(reports.iter().map(|(_, tally)| tally));
        Ok((gradients.finish(), reports.into_iter().map(|(report, _)| report).collect(), total))
    }
}

impl Trainer for CpuTrainer {
    fn step(
        &mut self,
        batch: &TrainBatch,
        objective: &Objective,
        rate: f32,
    ) -> Result<StepReport, ArithmeticError> {
        check_batch(self.model.shape(), batch, objective, rate)?;
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
        Ok(step_report(&tally, facts, sequences))
    }

    fn weights(&self) -> Result<&Weights, ArithmeticError> {
        Ok(&self.model.weights)
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

    fn reset_optimiser(&mut self) -> Result<(), ArithmeticError> {
        self.optimiser.reset();
        if let Some(average) = &mut self.average {
            average.reset();
        }
        Ok(())
    }

    fn state_bytes(&self) -> Result<Vec<u8>, ArithmeticError> {
        Ok(state::write(&self.model.weights, &self.optimiser, self.average.as_ref()))
    }
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
        let of = &self.batch.sequences[index];
        let sequence = &of.sequence;
        let (model, temperature) = (self.model, self.batch.temperature);
        let found = model
            .forward_sequence(&sequence.tokens, &sequence.targets, temperature, work, scratch)
            .map_err(|fault| fault_at(fault, index))?;
        let Judgement { gradients, keep, tally } =
            judge(self.objective, of, index, &found.log_probs, self.n_tokens)?;
        model.backward_sequence(&sequence.targets, &found, &gradients, temperature, work, scratch);
        *report = (SequenceReport { log_probs: found.log_probs, entropies: found.entropies, keep }, tally);
        Ok(())
    }
}
