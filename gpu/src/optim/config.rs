//! What an optimiser is told.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Which rule updates the matrices; embeddings, look-up tables and norms are always under `AdamW`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// `AdamW` for every tensor.
    #[default]
    AdamW,
    /// Muon for matrices.
    Muon,
}

/// The numbers of Muon.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MuonConfig {
    /// Share of the momentum kept at each step.
    pub momentum: f32,
    /// Newton-Schulz steps.
    pub newton_steps: u32,
    /// Learning rate of matrices over that of the rest.
    pub rate_ratio: f32,
}

impl Default for MuonConfig {
    fn default() -> Self {
        Self { momentum: 0.95, newton_steps: 5, rate_ratio: 5.0 }
    }
}

/// The numbers of an optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimiserConfig {
    /// Which rule updates the matrices.
    pub algorithm: Algorithm,
    /// Share of the first moment kept at each step.
    pub beta1: f32,
    /// Share of the second moment kept at each step.
    pub beta2: f32,
    /// Added to the root of the second moment before it divides.
    pub epsilon: f32,
    /// Share of a value, times the learning rate, taken off at each step; norms are not decayed.
    pub weight_decay: f32,
    /// The largest global norm of a gradient; larger ones are scaled down to it. `None`: never.
    pub clip_norm: Option<f32>,
    /// The numbers of Muon; unused under `AdamW`.
    pub muon: MuonConfig,
}

impl Default for OptimiserConfig {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::AdamW,
            beta1: 0.9,
            beta2: 0.95,
            epsilon: 1e-8,
            weight_decay: 0.0,
            clip_norm: Some(1.0),
            muon: MuonConfig::default(),
        }
    }
}

/// A number outside its range.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("{name} = {value} is not {range}")]
pub struct ConfigError {
    /// The number.
    pub name: &'static str,
    /// Its value.
    pub value: f32,
    /// What it should be.
    pub range: &'static str,
}

impl OptimiserConfig {
    /// Refuses numbers that make no sense.
    pub fn check(&self) -> Result<(), ConfigError> {
        let share = |value: f32| (0.0..1.0).contains(&value);
        let positive = |value: f32| value.is_finite() && value > 0.0;
        let not_negative = |value: f32| value.is_finite() && value >= 0.0;
        let newton_steps = self.muon.newton_steps as f32;
        let clip_norm = self.clip_norm.unwrap_or(1.0);
        let checks = [
            ("beta1", self.beta1, share(self.beta1), "from 0 up to 1"),
            ("beta2", self.beta2, share(self.beta2), "from 0 up to 1"),
            ("epsilon", self.epsilon, positive(self.epsilon), "above 0"),
            ("weight_decay", self.weight_decay, not_negative(self.weight_decay), "at least 0"),
            ("clip_norm", clip_norm, positive(clip_norm), "above 0"),
            ("muon.momentum", self.muon.momentum, share(self.muon.momentum), "from 0 up to 1"),
            ("muon.newton_steps", newton_steps, (1.0..=32.0).contains(&newton_steps), "from 1 to 32"),
            ("muon.rate_ratio", self.muon.rate_ratio, positive(self.muon.rate_ratio), "above 0"),
        ];
        match checks.into_iter().find(|&(_, _, good, _)| !good) {
            Some((name, value, _, range)) => Err(ConfigError { name, value, range }),
            None => Ok(()),
        }
    }
}
