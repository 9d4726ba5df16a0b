//! The backend on this machine's processors.

mod decoder;
mod policy;
mod trainer;

use super::{Backend, Policy, Sequence, Trainer, TrainerConfig};
use crate::error::ArithmeticError;
use crate::pool::Pool;
use crate::shape::ModelShape;
use crate::transformer::{Fault, Model, Purpose};
use crate::vector::{Isa, environment_is_exact};
use crate::weights::Weights;
use policy::CpuPolicy;
use std::sync::Arc;
use trainer::CpuTrainer;

/// Threads and an instruction set; neither changes a result.
#[derive(Clone, Copy, Debug)]
pub struct CpuBackend {
    pool: Pool,
    isa: Isa,
}

impl CpuBackend {
    /// This many threads (at least one), on the fastest instruction set of this processor or the one that `TADPOLE_ISA`
    /// names.
    pub fn new(threads: usize) -> Result<Self, ArithmeticError> {
        Self::with_isa(threads, Isa::choose()?)
    }

    /// This many threads on this instruction set.
    pub fn with_isa(threads: usize, isa: Isa) -> Result<Self, ArithmeticError> {
        if !environment_is_exact() {
            return Err(ArithmeticError::Environment);
        }
        Ok(Self { pool: Pool::new(threads), isa })
    }
}

impl Backend for CpuBackend {
    fn describe(&self) -> String {
        format!("cpu, {}, {} threads", self.isa.name(), self.pool.threads())
    }

    fn load(&self, weights: &Weights) -> Result<Arc<dyn Policy>, ArithmeticError> {
        weights.check_finite()?;
        let model = Model::new(weights.clone(), self.isa, Purpose::Inference);
        Ok(Arc::new(CpuPolicy::new(model, self.pool)))
    }

    fn trainer(
        &self,
        weights: &Weights,
        config: &TrainerConfig,
    ) -> Result<Box<dyn Trainer>, ArithmeticError> {
        Ok(Box::new(CpuTrainer::new(weights.clone(), self.isa, self.pool, config)?))
    }

    fn restore(
        &self,
        state: &[u8],
        shape: &ModelShape,
        config: &TrainerConfig,
    ) -> Result<Box<dyn Trainer>, ArithmeticError> {
        let mut trainer = CpuTrainer::new(Weights::zeros(shape)?, self.isa, self.pool, config)?;
        trainer.take_up(state)?;
        Ok(Box::new(trainer))
    }
}

/// Refuses tokens outside the vocabulary. `first` is the position of the first one.
fn check_tokens(
    shape: &ModelShape,
    sequence: usize,
    first: usize,
    tokens: &[u32],
) -> Result<(), ArithmeticError> {
    let vocab = shape.vocab;
    if let Some(offset) = tokens.iter().position(|&token| token >= vocab) {
        return Err(ArithmeticError::Token {
            token: tokens[offset],
            vocab,
            sequence,
            position: first + offset,
        });
    }
    let needed = first + tokens.len();
    if needed > shape.context as usize {
        return Err(ArithmeticError::Context { sequence, needed, context: shape.context });
    }
    Ok(())
}

/// Refuses a sequence that cannot be scored or trained on.
fn check_sequence(shape: &ModelShape, index: usize, sequence: &Sequence) -> Result<(), ArithmeticError> {
    check_tokens(shape, index, 0, &sequence.tokens)?;
    let refuse = |reason| Err(ArithmeticError::Sequence { sequence: index, reason });
    let mut end = 1;
    for span in &sequence.targets {
        if span.start < end || span.end < span.start {
            return refuse("targets are not ascending, disjoint and behind the first token");
        }
        end = span.end;
    }
    if sequence.target_count() > 0 && end as usize > sequence.tokens.len() {
        return refuse("a target lies behind the last token");
    }
    Ok(())
}

/// A fault of one sequence whose rows are its positions.
fn fault_at(fault: Fault, sequence: usize) -> ArithmeticError {
    ArithmeticError::NotFinite { quantity: fault.quantity, layer: fault.layer, sequence, position: fault.row }
}

fn check_temperature(value: f32, allow_zero: bool) -> Result<(), ArithmeticError> {
    if value.is_finite() && (value > 0.0 || (allow_zero && value == 0.0)) {
        Ok(())
    } else {
        Err(ArithmeticError::Parameter { name: "temperature", value })
    }
}

#[cfg(test)]
mod tests;
