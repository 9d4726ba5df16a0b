//! `AdamW`: Adam with decoupled weight decay.
//!
//! Nothing is fused: plain products and sums, which any compiler vectorises without changing a bit.

use super::config::OptimiserConfig;

/// The numbers of one step, the same for every element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdamW {
    gradient_scale: f32,
    /// What is left of a value that decays.
    pub(crate) decay: f32,
    pub(crate) beta1: f32,
    pub(crate) beta2: f32,
    /// Learning rate over the first bias correction.
    pub(crate) step_size: f32,
    /// Root of the second bias correction.
    pub(crate) root_correction: f32,
    pub(crate) epsilon: f32,
}

impl AdamW {
    /// `powers`: both betas to the number of steps, this one included.
    pub(super) fn new(config: &OptimiserConfig, rate: f32, gradient_scale: f32, powers: [f64; 2]) -> Self {
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
    pub(super) fn update(
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

    /// One element: the new value and moments.
    #[inline]
    fn element(&self, value: f32, gradient: f32, first: f32, second: f32, decay: f32) -> (f32, f32, f32) {
        let gradient = gradient * self.gradient_scale;
        let first = first * self.beta1 + gradient * (1.0 - self.beta1);
        let second = second * self.beta2 + (gradient * gradient) * (1.0 - self.beta2);
        let spread = second.sqrt() / self.root_correction + self.epsilon;
        (value * decay - self.step_size * (first / spread), first, second)
    }
}
