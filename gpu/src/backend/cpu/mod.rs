//! The backend on this machine's processors.

mod decoder;
mod policy;
mod trainer;

use super::{Backend, Policy, Trainer, TrainerConfig};
use crate::error::ArithmeticError;
use crate::pool::Pool;
use crate::shape::ModelShape;
use crate::transformer::{Model, Purpose};
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

#[cfg(test)]
mod tests;
