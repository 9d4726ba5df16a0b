//! What goes into a backend and what comes out.

use crate::dppo::DppoParams;
use crate::optim::OptimiserConfig;
use core::ops::Range;

/// Tokens, and which of them are asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// The token ids.
    pub tokens: Vec<u32>,
    /// Positions of targets: ascending, disjoint, none of them position 0, which nothing precedes.
    pub targets: Vec<Range<u32>>,
}

impl Sequence {
    /// Number of targets.
    pub fn target_count(&self) -> usize {
        self.targets.iter().map(ExactSizeIterator::len).sum()
    }
}

/// One number a target, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// Log-probability of the target token given everything before it.
    pub log_probs: Vec<f32>,
    /// Entropy of the distribution it comes from, in nats.
    pub entropies: Vec<f32>,
}

/// A row of logits for each sequence of a call.
#[derive(Clone, Copy, Debug)]
pub struct Logits<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) vocab: usize,
}

impl<'a> Logits<'a> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.vocab).unwrap_or(0)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The rows, each of `vocab` numbers, in the order of the call.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &'a [f32]> + use<'a> {
        self.values.chunks_exact(self.vocab.max(1))
    }
}

/// A sequence to train on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainSequence {
    /// Tokens and trainable tokens.
    pub sequence: Sequence,
    /// The advantage of each target; for [`Objective::Dppo`] only.
    pub advantages: Vec<f32>,
    /// The log-probability of each target when it was sampled; for [`Objective::Dppo`] only.
    pub rollout_log_probs: Vec<f32>,
    /// Multiplies the loss of every target; 1 unless a caller weighs sequences. Not negative.
    pub weight: f32,
}

/// The sequences of one optimiser step, in the order that fixes every sum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainBatch {
    /// The sequences.
    pub sequences: Vec<TrainSequence>,
    /// The temperature of the distribution whose log-probabilities are meant; above 0.
    pub temperature: f32,
}

/// What is minimised. `|T|` is the number of targets of the whole batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// `-(1/|T|) sum of weight * lp`.
    CrossEntropy,
    /// The DPPO loss ([`crate::dppo`]), each token's part times its sequence's weight.
    Dppo(DppoParams),
}

/// Which steps' weights enter the mean of [`super::Trainer::averaged_weights`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Averaging {
    /// None.
    #[default]
    Off,
    /// All from this step on, counted from 1.
    From(u64),
}

/// What a trainer is told at its start.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainerConfig {
    /// The optimiser.
    pub optimiser: OptimiserConfig,
    /// The mean of weights.
    pub averaging: Averaging,
}

/// What a step found in one sequence, one entry a target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SequenceReport {
    /// Log-probabilities before the step.
    pub log_probs: Vec<f32>,
    /// Entropies before the step.
    pub entropies: Vec<f32>,
    /// Whether the token was trained on.
    pub keep: Vec<bool>,
}

/// What a step did. Sums run over targets in order, sequence by sequence, in double precision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// The loss before the step.
    pub loss: f64,
    /// Number of targets.
    pub tokens: u64,
    /// Of these, the ones trained on.
    pub kept: u64,
    /// The global norm of the gradient before clipping.
    pub gradient_norm: f64,
    /// What the gradient was multiplied by; 1 where it was not clipped.
    pub gradient_scale: f32,
    /// The largest ratio; 1 for [`Objective::CrossEntropy`].
    pub ratio_max: f64,
    /// Sum over targets of `(rho - 1) - ln rho`: an estimate of the divergence; 0 for [`Objective::CrossEntropy`].
    pub kl_sum: f64,
    /// Sum of the entropies.
    pub entropy_sum: f64,
    /// What was found, sequence by sequence.
    pub sequences: Vec<SequenceReport>,
}
