//! Optimisers: `AdamW`, Muon, gradient clipping, learning-rate schedules, weight averaging.
//!
//! All work on the flat values of [`Weights`](crate::weights::Weights), cut into tensors by their
//! [`TensorSpec`]s. Every element's update is a fixed line of IEEE operations; sums run in a written order, so a step
//! has the same bits on every machine. State is saved and restored as canonical little-endian bytes.

mod adamw;
mod average;
mod bytes;
mod clip;
mod config;
mod muon;
mod schedule;

use core::ops::Range;

use thiserror::Error;

use crate::vector::Isa;
use crate::weights::{Role, TensorSpec};
use bytes::{Reader, Writer};

pub(crate) use adamw::AdamW;
pub use average::Average;
pub use bytes::StateError;
pub use clip::{GradientNorm, gradient_norm};
pub use config::{Algorithm, ConfigError, MuonConfig, OptimiserConfig};
pub use muon::orthogonalise;
pub use schedule::{Decay, Schedule};

/// First bytes of a saved state; the last is the version of the layout.
const MAGIC: [u8; 8] = *b"TADOPT\0\x01";

/// Why a step is refused. After [`OptimError::Value`], values and state are updated and must not be used again; after any
/// other error they are as they were.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum OptimError {
    /// The configuration makes no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Values or gradients are not as many as the tensors hold.
    #[error("{found} {what} for tensors of {expected} values in all")]
    Length {
        /// "values" or "gradients".
        what: &'static str,
        /// How many were given.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// The learning rate is negative or not finite.
    #[error("learning rate {0} is not a finite number of at least 0")]
    LearningRate(f32),
    /// A gradient is NaN or infinite.
    #[error("the gradient of {tensor} is not finite at {index}")]
    Gradient {
        /// The tensor.
        tensor: String,
        /// Place within it.
        index: usize,
    },
    /// A value became NaN or infinite.
    #[error("{tensor} is no longer finite at {index}")]
    Value {
        /// The tensor.
        tensor: String,
        /// Place within it.
        index: usize,
    },
}

/// How a tensor is updated, and where its state lies.
#[derive(Clone, Debug)]
enum Rule {
    /// `AdamW`; the range of its second moments.
    AdamW { second: Range<usize>, decays: bool },
    /// Muon; its momentum lies with the first moments.
    Muon { rows: usize, cols: usize },
}

/// One tensor as the optimiser sees it.
#[derive(Clone, Debug)]
struct Slot {
    name: String,
    /// Its place among all values, and among all first moments.
    place: Range<usize>,
    rule: Rule,
}

/// An optimiser with its state.
#[derive(Clone, Debug)]
pub struct Optimiser {
    config: OptimiserConfig,
    slots: Vec<Slot>,
    count: StepCount,
    /// First moments (`AdamW`) and momenta (Muon), in the order of the values.
    first: Vec<f32>,
    /// Second moments of the tensors under `AdamW`, one after the other.
    second: Vec<f32>,
}

/// Steps since the last reset, and what follows from their number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepCount {
    steps: u64,
    /// `beta1^steps` and `beta2^steps`, by repeated multiplication.
    powers: [f64; 2],
}

impl StepCount {
    const ZERO: Self = Self { steps: 0, powers: [1.0; 2] };

    /// One step more.
    fn next(self, config: &OptimiserConfig) -> Self {
        let [beta1_power, beta2_power] = self.powers;
        let powers = [beta1_power * f64::from(config.beta1), beta2_power * f64::from(config.beta2)];
        Self { steps: self.steps + 1, powers }
    }
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepFacts {
    /// The global norm of the gradient, before clipping.
    pub gradient_norm: f64,
    /// What the gradient was multiplied by; 1 where it was not clipped.
    pub gradient_scale: f32,
}

impl Optimiser {
    /// An optimiser at rest for values cut into these tensors.
    pub fn new(config: OptimiserConfig, specs: &[TensorSpec]) -> Result<Self, OptimError> {
        config.check()?;
        let (mut values, mut seconds) = (0, 0);
        let mut slots = Vec::with_capacity(specs.len());
        for spec in specs {
            let place = values..values + spec.len();
            values = place.end;
            let rule = if config.algorithm == Algorithm::Muon && spec.role == Role::Matrix {
                Rule::Muon { rows: spec.rows, cols: spec.cols }
            } else {
                let second = seconds..seconds + spec.len();
                seconds = second.end;
                Rule::AdamW { second, decays: spec.role != Role::Norm }
            };
            slots.push(Slot { name: spec.name.clone(), place, rule });
        }
        let (first, second) = (vec![0.0; values], vec![0.0; seconds]);
        Ok(Self { config, slots, count: StepCount::ZERO, first, second })
    }

    /// The configuration.
    pub fn config(&self) -> &OptimiserConfig {
        &self.config
    }

    /// Steps taken since the last reset.
    pub fn steps(&self) -> u64 {
        self.count.steps
    }

    /// Forgets all moments: the next step is as the first.
    pub fn reset(&mut self) {
        self.count = StepCount::ZERO;
        self.first.fill(0.0);
        self.second.fill(0.0);
    }

    /// One step down `gradients` at learning rate `rate`; `isa` runs Muon's matrix products.
    pub fn step(
        &mut self,
        values: &mut [f32],
        gradients: &[f32],
        rate: f32,
        isa: Isa,
    ) -> Result<StepFacts, OptimError> {
        let expected = self.first.len();
        for (what, found) in [("values", values.len()), ("gradients", gradients.len())] {
            if found != expected {
                return Err(OptimError::Length { what, found, expected });
            }
        }
        if !(rate.is_finite() && rate >= 0.0) {
            return Err(OptimError::LearningRate(rate));
        }
        if let Some((tensor, index)) = self.first_not_finite(gradients) {
            return Err(OptimError::Gradient { tensor, index });
        }
        let places = self.slots.iter().map(|slot| &gradients[slot.place.clone()]);
        let norm = gradient_norm(places, self.config.clip_norm);
        self.count = self.count.next(&self.config);
        self.update(values, gradients, rate, norm.scale, isa);
        if let Some((tensor, index)) = self.first_not_finite(values) {
            return Err(OptimError::Value { tensor, index });
        }
        Ok(StepFacts { gradient_norm: norm.norm, gradient_scale: norm.scale })
    }

    /// Elsewhere than here: the count after the next step, and the numbers of that step.
    pub(crate) fn next(&self, rate: f32) -> (StepCount, AdamW) {
        let count = self.count.next(&self.config);
        (count, AdamW::new(&self.config, rate, 1.0, count.powers))
    }

    /// Says that a step was taken elsewhere.
    pub(crate) fn count_step(&mut self, count: StepCount) {
        self.count = count;
    }

    /// First and second moments.
    pub(crate) fn moments(&self) -> (&[f32], &[f32]) {
        (&self.first, &self.second)
    }

    /// First and second moments, to be written.
    pub(crate) fn moments_mut(&mut self) -> (&mut [f32], &mut [f32]) {
        (&mut self.first, &mut self.second)
    }

    /// The tensor and the place within it of the value at this place among all.
    pub(crate) fn locate(&self, place: usize) -> Option<(String, usize)> {
        let slot = self.slots.iter().find(|slot| slot.place.contains(&place))?;
        Some((slot.name.clone(), place - slot.place.start))
    }

    fn update(&mut self, values: &mut [f32], gradients: &[f32], rate: f32, scale: f32, isa: Isa) {
        let adamw = AdamW::new(&self.config, rate, scale, self.count.powers);
        for slot in &self.slots {
            let values = &mut values[slot.place.clone()];
            let gradients = &gradients[slot.place.clone()];
            let first = &mut self.first[slot.place.clone()];
            match &slot.rule {
                Rule::AdamW { second, decays } => {
                    let second = &mut self.second[second.clone()];
                    adamw.update(values, gradients, first, second, *decays);
                }
                Rule::Muon { rows, cols } => {
                    let muon = muon::Muon { config: &self.config, rate, scale, isa };
                    muon.update(values, gradients, first, [*rows, *cols]);
                }
            }
        }
    }

    /// The tensor and the place within it of the first number that is not finite.
    fn first_not_finite(&self, values: &[f32]) -> Option<(String, usize)> {
        self.slots.iter().find_map(|slot| {
            let index = values[slot.place.clone()].iter().position(|value| !value.is_finite())?;
            Some((slot.name.clone(), index))
        })
    }

    /// The state as canonical bytes, all numbers little-endian:
    ///
    /// | size | content |
    /// | --- | --- |
    /// | 8 | `TADOPT\0` and the layout's version, 1 |
    /// | 8 | steps taken (u64) |
    /// | 16 | powers of both betas (f64 each) |
    /// | 8 + 4 n | number of first moments (u64), first moments (f32 each) |
    /// | 8 + 4 m | number of second moments (u64), second moments (f32 each) |
    pub fn state_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(MAGIC, 5, self.first.len() + self.second.len());
        let StepCount { steps, powers: [beta1_power, beta2_power] } = self.count;
        writer.word(steps);
        writer.word(beta1_power.to_bits());
        writer.word(beta2_power.to_bits());
        writer.floats(&self.first);
        writer.floats(&self.second);
        writer.finish()
    }

    /// Takes up a state that [`Optimiser::state_bytes`] wrote for the same tensors and algorithm. After an error the
    /// optimiser is as it was.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let mut reader = Reader::new(bytes, MAGIC)?;
        let steps = reader.word()?;
        let powers = [f64::from_bits(reader.word()?), f64::from_bits(reader.word()?)];
        if powers.iter().any(|power| !(0.0..=1.0).contains(power)) {
            return Err(StateError::Value);
        }
        let first = reader.floats(self.first.len())?;
        let second = reader.floats(self.second.len())?;
        reader.finish()?;
        if second.iter().any(|&moment| moment < 0.0) {
            return Err(StateError::Value);
        }
        (self.count, self.first, self.second) = (StepCount { steps, powers }, first, second);
        Ok(())
    }
}
