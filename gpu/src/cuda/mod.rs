//! The backend on a CUDA device: the first one, if it can be used ([`probe()`]).
//!
//! ```text
//! probe     whether there is a device, asked so that nothing panics
//! device    one device, one stream, the kernels; launching
//! ptx       the kernels as they are carried
//! buffer    memory on the device
//! model     weights on the device
//! batch     rows of any sequences, laid out for kernels         cache   paged keys and values
//! forward   the layers and the head                             layer   what they compute on the way
//! decoder   sequences that grow                                 policy  scoring
//! plan      the batch of a step, laid out in one piece          pass    a micro-batch, there and back
//! backward  gradients                                           scratch its memory
//! descent   the optimiser                                       trainer steps and their reports
//! faults    what is not finite, and which of it is reported
//! checkpoint half the size                                      timing  kernels by the device's own clock
//! ```
//!
//! Everything is the processor's computation, launch by launch, so the bits are equal: `kernels/*.cu` say how each kernel
//! keeps the order of its sums. What is small and decides nothing (counts, reports) is computed by the processor's own code
//! from what comes back.
//!
//! Weights, moments and activations live on the device. A step copies its batch there and its report back; nothing
//! comes back in between.

mod backward;
mod batch;
pub(crate) mod buffer;
mod cache;
mod checkpoint;
mod decoder;
mod descent;
pub(crate) mod device;
mod error;
mod faults;
mod forward;
mod layer;
mod model;
mod pass;
mod plan;
mod policy;
mod probe;
pub(crate) mod ptx;
mod scratch;
mod timing;
mod trainer;

use std::sync::Arc;

use crate::backend::{Backend, Policy, Trainer, TrainerConfig};
use crate::error::ArithmeticError;
use crate::shape::ModelShape;
use crate::weights::Weights;
use device::Device;
use model::DeviceModel;
use policy::CudaPolicy;
use trainer::CudaTrainer;

pub use error::DeviceError;
pub use probe::{CAPABILITY_MIN, DRIVER_MIN, Found, Unusable, Version, probe};
pub use timing::Timing;

/// The first CUDA device.
pub struct CudaBackend {
    device: Arc<Device>,
}

impl core::fmt::Debug for CudaBackend {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(out, "CudaBackend({})", self.device.found().name)
    }
}

impl CudaBackend {
    /// Opens the device and loads the kernels; the kernels are compiled for it when that is done for the first time.
    pub fn new() -> Result<Self, DeviceError> {
        Ok(Self { device: Device::shared()? })
    }

    /// What the device is.
    #[must_use]
    pub fn found(&self) -> &Found {
        self.device.found()
    }
}

impl Backend for CudaBackend {
    fn describe(&self) -> String {
        let Found { name, capability, .. } = self.device.found();
        format!("cuda, {name}, capability {capability}")
    }

    fn load(&self, weights: &Weights) -> Result<Arc<dyn Policy>, ArithmeticError> {
        weights.check_finite()?;
        let model = Arc::new(DeviceModel::new(&self.device, weights)?);
        Ok(Arc::new(CudaPolicy { model }))
    }

    fn trainer(
        &self,
        weights: &Weights,
        config: &TrainerConfig,
    ) -> Result<Box<dyn Trainer>, ArithmeticError> {
        Ok(Box::new(CudaTrainer::new(&self.device, weights, config)?))
    }

    fn restore(
        &self,
        state: &[u8],
        shape: &ModelShape,
        config: &TrainerConfig,
    ) -> Result<Box<dyn Trainer>, ArithmeticError> {
        let mut trainer = CudaTrainer::new(&self.device, &Weights::zeros(shape)?, config)?;
        trainer.take_up(state)?;
        Ok(Box::new(trainer))
    }
}
