//! Optimiser steps.
//!
//! Sequences go forward and backward side by side, a thread each; as they are done, the parts of the weights' gradients take
//! them up in order. A few are under way at a time, so that what one thread leaves is still in the caches when another wants it.

use super::super::check::{check_batch, fault_at};
use super::super::objective::{Judgement, judge, step_error, step_report, total};
use super::super::state;
use super::super::{Averaging, Objective, SequenceReport, StepReport, TrainBatch};
use super::super::{Trainer, TrainerConfig};
use crate::dppo::Tally;
use crate::error::ArithmeticError;
use crate::gemm;
use crate::optim::{Average, Optimiser};
use crate::pool::Pool;
use crate::relay::{Relay, Runners};
use crate::transformer::{Gradients, Model, Purpose, Scratch, SequenceWork, Sum};
use crate::vector::Isa;
use crate::weights::Weights;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// Weights, optimiser and the memory of a step.
pub(super) struct CpuTrainer {
    model: Model,
    pool: Pool,
    optimiser: Optimiser,
    average: Option<Average>,
    /// One a sequence under way.
    works: Vec<RwLock<SequenceWork>>,
    scratch: Vec<Memory>,
    /// Sequences under way at most.
    pub(super) window: usize,
}

/// Memory of a thread.
#[derive(Default)]
struct Memory {
    pass: Scratch,
    sum: gemm::Scratch,
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
            window: pool.threads(),
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
        let count = batch.sequences.len();
        let mut gradients = Gradients::new(self.model.shape())?;
        let shape = self.model.shape();
        self.works.resize_with(self.window.max(1), || RwLock::new(SequenceWork::new(shape)));
        let step = Step {
            pass: Pass { model: &self.model, batch, objective, n_tokens },
            works: &self.works,
            reports: Mutex::new(vec![Default::default(); count]),
            sums: gradients.parts(shape).into_iter().map(Mutex::new).collect(),
        };
        let relay = Relay { items: count, sums: step.sums.len(), window: self.works.len() };
        relay.run(self.pool, &mut self.scratch, &step)?;
        let reports = step.reports.into_inner().unwrap_or_else(PoisonError::into_inner);
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

/// The gradients of a step, while threads are at them. The locks on works and sums only say to the compiler what the relay
/// promises: nobody waits for one.
struct Step<'a> {
    pass: Pass<'a>,
    /// Of the sequence at a place, the one with that place's remainder.
    works: &'a [RwLock<SequenceWork>],
    reports: Mutex<Vec<(SequenceReport, Tally)>>,
    sums: Vec<Mutex<Sum<'a>>>,
}

impl Runners for Step<'_> {
    type Scratch = Memory;

    fn make(&self, index: usize, memory: &mut Memory) -> Result<(), ArithmeticError> {
        let work = &self.works[index % self.works.len()];
        let mut work = work.write().unwrap_or_else(PoisonError::into_inner);
        let report = self.pass.run(index, &mut work, &mut memory.pass)?;
        locked(&self.reports)[index] = report;
        Ok(())
    }

    fn take_up(&self, sum: usize, sequences: Range<usize>, memory: &mut Memory) {
        let mut sum = locked(&self.sums[sum]);
        for index in sequences {
            let work = self.works[index % self.works.len()].read().unwrap_or_else(PoisonError::into_inner);
            sum.take_up(self.pass.model, &work, &mut memory.sum);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        index: usize,
        work: &mut SequenceWork,
        scratch: &mut Scratch,
    ) -> Result<(SequenceReport, Tally), ArithmeticError> {
        let of = &self.batch.sequences[index];
        let sequence = &of.sequence;
        let (model, temperature) = (self.model, self.batch.temperature);
        let found = model
            .forward_sequence(&sequence.tokens, &sequence.targets, temperature, work, scratch)
            .map_err(|fault| fault_at(fault, index))?;
        let Judgement { gradients, keep, tally } =
            judge(self.objective, of, index, &found.log_probs, self.n_tokens)?;
        model.backward_sequence(&sequence.targets, &found, &gradients, temperature, work, scratch);
        Ok((SequenceReport { log_probs: found.log_probs, entropies: found.entropies, keep }, tally))
    }
}
