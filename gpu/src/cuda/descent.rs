//! The optimiser on the device: norm and clipping of the gradient, `AdamW`, the mean of weights. What does not live in
//! large arrays (counts, powers, names of tensors) is the processor's optimiser's.

use super::buffer::Buffer;
use super::error::DeviceError;
use super::model::DeviceModel;
use crate::backend::objective::step_error;
use crate::error::ArithmeticError;
use crate::kernels::{AdamW, Add, Address, Average as AverageLaunch, Clip, FirstNotFinite, Squares};
use crate::optim::{Algorithm, Average, OptimError, Optimiser, StepCount, StepFacts};
use crate::weights::{Role, Weights};

/// Optimiser, mean, and their arrays on the device.
pub(super) struct Descent {
    /// Its moments are those of the last state that was taken up or read back.
    optimiser: Optimiser,
    average: Option<Average>,
    pub(super) gradients: Buffer<f32>,
    /// The gradient of the token embedding as a table.
    pub(super) lookup: Buffer<f32>,
    first: Buffer<f32>,
    second: Buffer<f32>,
    mean: Option<Buffer<f32>>,
    /// For each sixteen values, whether they decay.
    decays: Buffer<u8>,
    /// Where each tensor begins, and where the last one ends.
    starts: Buffer<u64>,
    squares: Buffer<f64>,
    norm: Buffer<f64>,
    scale: Buffer<f32>,
    /// The first gradient, and the first new value, that is not finite.
    places: Buffer<u64>,
    halt_values: Buffer<u32>,
}

/// A step that was handed over: what its numbers were made for.
pub(super) struct Taken {
    count: StepCount,
}

impl Descent {
    /// At rest, for the weights of a model.
    pub(super) fn new(
        model: &DeviceModel,
        weights: &Weights,
        optimiser: Optimiser,
        average: Option<Average>,
    ) -> Result<Self, DeviceError> {
        if optimiser.config().algorithm == Algorithm::Muon {
            return Err(DeviceError::Unsupported("the optimiser Muon"));
        }
        let device = &model.device;
        let count = weights.values().len();
        let mut decays = Vec::with_capacity(count / 16);
        for spec in weights.specs() {
            decays.extend(std::iter::repeat_n(u8::from(spec.role != Role::Norm), spec.len() / 16));
        }
        let starts: Vec<u64> = model.starts.iter().map(|&start| start as u64).chain([count as u64]).collect();
        let reals = |what| Buffer::new(device, what, count);
        let mut descent = Self {
            gradients: reals("gradients")?,
            lookup: Buffer::new(device, "gradients", (model.sizes.vocab * model.sizes.width) as usize)?,
            first: reals("moments")?,
            second: reals("moments")?,
            mean: average.as_ref().map(|_| reals("the mean of weights")).transpose()?,
            decays: Buffer::of(device, "moments", &decays)?,
            starts: Buffer::of(device, "moments", &starts)?,
            squares: Buffer::new(device, "the gradient's norm", model.starts.len())?,
            norm: Buffer::new(device, "the gradient's norm", 1)?,
            scale: Buffer::new(device, "the gradient's norm", 1)?,
            places: Buffer::new(device, "the gradient's norm", 2)?,
            halt_values: Buffer::new(device, "the gradient's norm", 1)?,
            optimiser,
            average,
        };
        descent.write(model)?;
        Ok(descent)
    }

    /// Copies moments and mean to the device.
    fn write(&mut self, model: &DeviceModel) -> Result<(), DeviceError> {
        let (first, second) = self.optimiser.moments();
        self.first.write(&model.device, first)?;
        self.second.write(&model.device, second)?;
        if let (Some(average), Some(mean)) = (&mut self.average, &mut self.mean) {
            mean.write(&model.device, average.values_mut())?;
        }
        Ok(())
    }

    /// Makes another optimiser and mean the current ones.
    pub(super) fn replace(
        &mut self,
        model: &DeviceModel,
        optimiser: Optimiser,
        average: Option<Average>,
    ) -> Result<(), DeviceError> {
        (self.optimiser, self.average) = (optimiser, average);
        self.write(model)
    }

    /// Optimiser and mean as the processor has them, arrays included.
    pub(super) fn read(&self, model: &DeviceModel) -> Result<(Optimiser, Option<Average>), DeviceError> {
        let mut optimiser = self.optimiser.clone();
        let (first, second) = optimiser.moments_mut();
        self.first.read(&model.device, first)?;
        self.second.read(&model.device, second)?;
        Ok((optimiser, self.read_average(model)?))
    }

    /// The mean as the processor has it.
    pub(super) fn read_average(&self, model: &DeviceModel) -> Result<Option<Average>, DeviceError> {
        let mut average = self.average.clone();
        if let (Some(average), Some(mean)) = (&mut average, &self.mean) {
            mean.read(&model.device, average.values_mut())?;
        }
        Ok(average)
    }

    /// The processor's optimiser, with counts but without the device's moments.
    pub(super) fn optimiser(&self) -> &Optimiser {
        &self.optimiser
    }

    /// The processor's mean, with counts but without the device's values.
    pub(super) fn average(&self) -> Option<&Average> {
        self.average.as_ref()
    }

    /// Starts the sums of gradients at 0.
    pub(super) fn begin(&mut self, model: &DeviceModel) -> Result<(), DeviceError> {
        self.gradients.clear(&model.device)?;
        self.lookup.clear(&model.device)
    }

    /// Hands over a step down the gradients. Where `halt` is set by then, or a gradient is not finite, nothing changes.
    pub(super) fn step(
        &mut self,
        model: &DeviceModel,
        rate: f32,
        halt: Address,
    ) -> Result<Taken, DeviceError> {
        let device = &model.device;
        let count = self.gradients.len() as u64;
        let gradients = self.gradients.address();
        device.launch(&Add {
            from: self.lookup.address(),
            count: self.lookup.len() as u64,
            out: gradients,
        })?;
        self.places.write(device, &[u64::MAX; 2])?;
        self.halt_values.clear(device)?;
        device.launch(&FirstNotFinite { values: gradients, count, place: self.places.address(), halt })?;
        let tensors = model.starts.len() as u32;
        let sums = self.squares.address();
        device.launch(&Squares { values: gradients, starts: self.starts.address(), tensors, sums })?;
        let bound = self.optimiser.config().clip_norm.unwrap_or(f32::INFINITY);
        let (norm, scale) = (self.norm.address(), self.scale.address());
        device.launch(&Clip { sums, tensors, bound, norm, scale })?;
        let (next, numbers) = self.optimiser.next(rate);
        device.launch(&AdamW {
            values: model.values.address(),
            gradients,
            first: self.first.address(),
            second: self.second.address(),
            decays: self.decays.address(),
            count,
            scale,
            decay: numbers.decay,
            beta1: numbers.beta1,
            beta2: numbers.beta2,
            step_size: numbers.step_size,
            root_correction: numbers.root_correction,
            epsilon: numbers.epsilon,
            halt,
        })?;
        device.launch(&FirstNotFinite {
            values: model.values.address(),
            count,
            place: self.places.place(1),
            halt: self.halt_values.address(),
        })?;
        let steps = self.average.as_ref().and_then(Average::next_count);
        if let (Some(mean), Some(steps)) = (&self.mean, steps) {
            device.launch(&AverageLaunch {
                values: model.values.address(),
                mean: mean.address(),
                count,
                steps: steps as f32,
                halt,
            })?;
        }
        Ok(Taken { count: next })
    }

    /// What a step that nothing else refused did.
    pub(super) fn finish(&mut self, model: &DeviceModel, taken: Taken) -> Result<StepFacts, ArithmeticError> {
        let device = &model.device;
        let (mut places, mut norm, mut scale) = ([0; 2], [0.0], [0.0]);
        self.places.read(device, &mut places)?;
        self.norm.read(device, &mut norm)?;
        self.scale.read(device, &mut scale)?;
        let located = |place: u64| usize::try_from(place).ok().and_then(|place| self.optimiser.locate(place));
        if let Some((tensor, index)) = located(places[0]) {
            return Err(step_error(&OptimError::Gradient { tensor, index }));
        }
        if let Some((tensor, index)) = located(places[1]) {
            return Err(step_error(&OptimError::Value { tensor, index }));
        }
        self.optimiser.count_step(taken.count);
        if let Some(average) = &mut self.average {
            average.count_update();
        }
        Ok(StepFacts { gradient_norm: norm[0], gradient_scale: scale[0] })
    }

    /// Forgets all moments and the mean.
    pub(super) fn reset(&mut self, model: &DeviceModel) -> Result<(), DeviceError> {
        self.optimiser.reset();
        self.first.clear(&model.device)?;
        self.second.clear(&model.device)?;
        self.reset_average(model)
    }

    /// Starts the mean again.
    pub(super) fn reset_average(&mut self, model: &DeviceModel) -> Result<(), DeviceError> {
        if let (Some(average), Some(mean)) = (&mut self.average, &mut self.mean) {
            average.reset();
            mean.clear(&model.device)?;
        }
        Ok(())
    }
}
