//! How the learning rate changes from step to step.

use serde::{Deserialize, Serialize};

use crate::math;

/// What follows the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Decay {
    /// Nothing: the rate stays.
    #[default]
    Constant,
    /// Along a line down to `floor` times the rate, reached after `steps` steps, warm-up included.
    Linear {
        /// Where the end is reached.
        steps: u64,
        /// What is left at the end, of 1.
        floor: f32,
    },
    /// Along half a cosine down to `floor` times the rate, reached after `steps` steps, warm-up included.
    Cosine {
        /// Where the end is reached.
        steps: u64,
        /// What is left at the end, of 1.
        floor: f32,
    },
}

/// A learning rate's course, as a factor of the rate configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Steps of linear warm-up: of `n`, step `i` (from 0) runs at `(i + 1) / n` of the rate.
    pub warmup: u64,
    /// What follows.
    pub decay: Decay,
}

impl Schedule {
    /// The factor at `step`, counted from 0.
    pub fn factor(&self, step: u64) -> f32 {
        if step < self.warmup {
            return (step + 1) as f32 / self.warmup as f32;
        }
        match self.decay {
            Decay::Constant => 1.0,
            Decay::Linear { steps, floor } => {
                let left = 1.0 - self.progress(step, steps);
                left.mul_add(1.0 - floor, floor)
            }
            Decay::Cosine { steps, floor } => {
                let angle = core::f32::consts::PI * self.progress(step, steps);
                let left = (1.0 + math::cos(angle)) * 0.5;
                left.mul_add(1.0 - floor, floor)
            }
        }
    }

    /// 0 at the end of the warm-up, 1 from `steps` on.
    fn progress(&self, step: u64, steps: u64) -> f32 {
        if step >= steps {
            return 1.0;
        }
        (step - self.warmup) as f32 / (steps - self.warmup) as f32
    }
}
