//! `AdamW`: Adam with decoupled weight decay.

use super::config::OptimiserConfig;
use crate::math::Lane;

/// The numbers of one step, the same for every element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdamW {
    gradient_scale: f32,
    /// What is left of a value that decays.
    decay: f32,
    beta1: f32,
    beta2: f32,
    /// Learning rate over the first bias correction.
    step_size: f32,
    /// Root of the second bias correction.
    root_correction: f32,
    epsilon: f32,
}

impl AdamW {
    /// `powers`: both betas to the number of steps, this one included.
    pub(crate) fn new(config: &OptimiserConfig, rate: f32, gradient_scale: f32, powers: [f64; 2]) -> Self {
        let [beta1_power, beta2_power] = powers;
        Self {
            gradient_scale,
            decay: 1.0 - rate * config.weight_decay,
            beta1: config.beta1,
            beta2: config.beta2,
            step_size: (f64::from(rate) / (1.0 - beta1_power)) as f32,
            root_correction: (1.0 - beta2_power).sqrt() as f32,
            epsilon: config.epsilon,
        }
    }

    /// Updates a tensor and its moments.
    pub(crate) fn update(
        &self,
        values: &mut [f32],
        gradients: &[f32],
        first: &mut [f32],
        second: &mut [f32],
        decays: bool,
    ) {
        let decay = if decays { self.decay } else { 1.0 };
        let moments = first.iter_mut().zip(second);
        for ((value, &gradient), (first, second)) in values.iter_mut().zip(gradients).zip(moments) {
            (*value, *first, *second) = self.element(*value, gradient, *first, *second, decay);
        }
    }

    /// One element, or several side by side: the new value and moments.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "vector instances are inlined into functions with a target feature"
    )]
    fn element<L: Lane>(&self, value: L, gradient: L, first: L, second: L, decay: f32) -> (L, L, L) {
        let gradient = gradient.mul(L::splat(self.gradient_scale));
        let square = gradient.mul(gradient);
        let first = first.fma(L::splat(self.beta1), gradient.mul(L::splat(1.0 - self.beta1)));
        let second = second.fma(L::splat(self.beta2), square.mul(L::splat(1.0 - self.beta2)));
        let spread = second.sqrt().div(L::splat(self.root_correction)).add(L::splat(self.epsilon));
        let kept = value.mul(L::splat(decay));
        (first.div(spread).fma(L::splat(-self.step_size), kept), first, second)
    }
}
