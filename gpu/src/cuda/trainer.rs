//! Optimiser steps on the device.
//!
//! A step copies its batch there, hands over everything from the embedding to the new weights, and waits once, for the
//! report. Nothing comes back in between: where something is refused, the kernels that would change weights do nothing.

use std::sync::{Arc, OnceLock};

use super::descent::Descent;
use super::device::Device;
use super::error::DeviceError;
use super::faults::{self, Notes};
use super::model::DeviceModel;
use super::pass::{Aim, Found, PassRoom, TargetRoom};
use super::plan::{Plan, PlanRoom};
use crate::backend::check::{check_batch, fault_at};
use crate::backend::objective::{Judgement, judge, step_error, step_report, total};
use crate::backend::{
    Averaging, Objective, SequenceReport, StepReport, TrainBatch, Trainer, TrainerConfig, state,
};
use crate::dppo::Tally;
use crate::error::ArithmeticError;
use crate::optim::{Average, Optimiser};
use crate::transformer::{Fault, target_rows};
use crate::vector::environment_is_exact;
use crate::weights::Weights;

/// Weights, optimiser and the memory of a step.
pub(super) struct CudaTrainer {
    model: DeviceModel,
    descent: Descent,
    plan: PlanRoom,
    pass: PassRoom,
    targets: TargetRoom,
    notes: Notes,
    /// The weights, copied back when they are asked for.
    weights: OnceLock<Weights>,
}

impl CudaTrainer {
    pub(super) fn new(
        device: &Arc<Device>,
        weights: &Weights,
        config: &TrainerConfig,
    ) -> Result<Self, ArithmeticError> {
        weights.check_finite()?;
        let optimiser =
            Optimiser::new(config.optimiser, weights.specs()).map_err(|error| step_error(&error))?;
        let average = match config.averaging {
            Averaging::Off => None,
            Averaging::From(step) => Some(Average::new(step, weights.values().len())),
        };
        let model = DeviceModel::new(device, weights)?;
        Ok(Self {
            descent: Descent::new(&model, weights, optimiser, average)?,
            plan: PlanRoom::new(),
            pass: PassRoom::new(&model.sizes),
            targets: TargetRoom::new(),
            notes: Notes::new(),
            weights: OnceLock::from(weights.clone()),
            model,
        })
    }

    /// Takes up a saved state.
    pub(super) fn take_up(&mut self, bytes: &[u8]) -> Result<(), ArithmeticError> {
        let (mut optimiser, mut average) =
            (self.descent.optimiser().clone(), self.descent.average().cloned());
        let weights = state::read(bytes, &self.model.shape, &mut optimiser, average.as_mut())?;
        self.descent.replace(&self.model, optimiser, average)?;
        self.replace(weights)
    }

    fn replace(&mut self, weights: Weights) -> Result<(), ArithmeticError> {
        self.model.replace(&weights)?;
        self.weights = OnceLock::from(weights);
        Ok(())
    }

    /// Takes a step with a batch that has been checked.
    fn descend(
        &mut self,
        batch: &TrainBatch,
        objective: &Objective,
        rate: f32,
    ) -> Result<StepReport, ArithmeticError> {
        let Self { model, descent, plan: room, pass, targets: target_room, notes, .. } = self;
        let device = &model.device;
        let plan = Plan::of(&model.shape, batch);
        let uploaded = plan.upload(device, room)?;
        let noted = notes.begin(device, plan.rows + plan.targets)?;
        let targets = target_room.at(device, plan.targets)?;
        let aim = Aim { objective, temperature: batch.temperature, targets: plan.targets as u64 as f32 };
        descent.begin(model)?;
        for part in &plan.parts {
            let at = uploaded.part(part);
            let own = targets.starting_at_target(part.targets.start);
            let notes =
                [part.rows.start, plan.rows + part.targets.start].map(|row| noted.starting_at_row(row));
            pass.run(model, descent, (part, &at), aim, own, notes)?;
        }
        let taken = descent.step(model, rate, noted.halt)?;
        let found = target_room.read(device, plan.targets)?;
        let halted = notes.halted(device)?;
        let notes = notes.read(device, plan.rows + plan.targets)?;
        let review = Review { batch, objective, found: &found, notes: &notes, rows: plan.rows };
        let judged = review.judge(plan.targets as u64)?;
        let facts = descent.finish(model, taken)?;
        if halted {
            return Err(DeviceError::Unexplained.into());
        }
        let tally = total(judged.iter().map(|(_, tally)| tally));
        Ok(step_report(&tally, facts, judged.into_iter().map(|(report, _)| report).collect()))
    }
}

/// What came back from a step, against its batch.
struct Review<'a> {
    batch: &'a TrainBatch,
    objective: &'a Objective,
    found: &'a Found,
    /// Of all rows, then of all targets.
    notes: &'a [u32],
    rows: usize,
}

impl Review<'_> {
    /// Reports and sums of all sequences; or the error that the processor would return: of the first sequence that is
    /// refused.
    fn judge(&self, n_tokens: u64) -> Result<Vec<(SequenceReport, Tally)>, ArithmeticError> {
        let sequences = &self.batch.sequences;
        let places = self.places();
        (0..sequences.len()).map(|index| self.sequence(index, places[index], n_tokens)).collect()
    }

    /// First row and first target of every sequence.
    fn places(&self) -> Vec<[usize; 2]> {
        let next = |place: &mut [usize; 2], sequence: &crate::backend::TrainSequence| {
            let own = *place;
            place[0] += sequence.sequence.tokens.len();
            place[1] += sequence.sequence.target_count();
            Some(own)
        };
        self.batch.sequences.iter().scan([0; 2], next).collect()
    }

    fn sequence(
        &self,
        index: usize,
        [row, target]: [usize; 2],
        n_tokens: u64,
    ) -> Result<(SequenceReport, Tally), ArithmeticError> {
        let of = &self.batch.sequences[index];
        let (tokens, count) = (of.sequence.tokens.len(), of.sequence.target_count());
        let (of_rows, of_targets) = self.notes.split_at(self.rows);
        if let Some(fault) = faults::first(&of_rows[row..row + tokens]) {
            return Err(fault_at(fault, index));
        }
        if let Some(fault) = faults::first(&of_targets[target..target + count]) {
            let row = target_rows(&of.sequence.targets).nth(fault.row).unwrap_or(0);
            return Err(fault_at(Fault { row, ..fault }, index));
        }
        let own = target..target + count;
        let log_probs = self.found.log_probs[own.clone()].to_vec();
        let Judgement { keep, tally, .. } = judge(self.objective, of, index, &log_probs, n_tokens)?;
        let kept = self.found.keep[own.clone()].iter().map(|&keep| keep != 0);
        if let Some(target) = kept.zip(&keep).position(|(there, &here)| there != here) {
            return Err(DeviceError::Disagrees { sequence: index, target }.into());
        }
        let entropies = self.found.entropies[own].to_vec();
        Ok((SequenceReport { log_probs, entropies, keep }, tally))
    }
}

impl Trainer for CudaTrainer {
    fn step(
        &mut self,
        batch: &TrainBatch,
        objective: &Objective,
        rate: f32,
    ) -> Result<StepReport, ArithmeticError> {
        if !environment_is_exact() {
            return Err(ArithmeticError::Environment);
        }
        check_batch(&self.model.shape, batch, objective, rate)?;
        let report = self.descend(batch, objective, rate)?;
        self.weights = OnceLock::new();
        Ok(report)
    }

    fn weights(&self) -> Result<&Weights, ArithmeticError> {
        if let Some(weights) = self.weights.get() {
            return Ok(weights);
        }
        let mut weights = Weights::zeros(&self.model.shape)?;
        self.model.download(&mut weights)?;
        Ok(self.weights.get_or_init(|| weights))
    }

    fn averaged_weights(&self) -> Result<Weights, ArithmeticError> {
        let average = self.descent.read_average(&self.model)?;
        match average.as_ref().and_then(Average::mean) {
            Some(mean) => Ok(Weights::from_values(&self.model.shape, mean.to_vec())?),
            None => Ok(self.weights()?.clone()),
        }
    }

    fn averaged_steps(&self) -> u64 {
        self.descent.average().map_or(0, Average::count)
    }

    fn restart(&mut self, weights: &Weights) -> Result<(), ArithmeticError> {
        if *weights.shape() != self.model.shape {
            return Err(ArithmeticError::State("the weights are of another shape".to_owned()));
        }
        weights.check_finite()?;
        self.descent.reset_average(&self.model)?;
        self.replace(weights.clone())
    }

    fn steps(&self) -> u64 {
        self.descent.optimiser().steps()
    }

    fn reset_optimiser(&mut self) -> Result<(), ArithmeticError> {
        Ok(self.descent.reset(&self.model)?)
    }

    fn state_bytes(&self) -> Result<Vec<u8>, ArithmeticError> {
        let (optimiser, average) = self.descent.read(&self.model)?;
        Ok(state::write(self.weights()?, &optimiser, average.as_ref()))
    }
}
