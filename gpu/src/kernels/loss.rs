//! From logits to log-probabilities, DPPO's decision on each token, and the gradient of the logits in place.

use super::{Address, LaunchShape};

/// Threads of a block that has one row of logits.
const ROW_THREADS: u32 = 256;
/// Threads of a block that has a token a thread.
const TOKEN_THREADS: u32 = 128;

/// What [`TokenGradient`] is told to minimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ObjectiveCode {
    /// Cross entropy.
    CrossEntropy = 0,
    /// DPPO, thresholds on the total variation.
    DppoTv = 1,
    /// DPPO, thresholds on the divergence.
    DppoKl = 2,
}

kernel! {
    /// Log-probability of one token a row and entropy of the row; logits become unnormalised weights.
    pub struct LogSoftmax = "loss.cu"::"log_softmax" {
        /// f32 `[rows, vocab]`: logits; weights are written over them.
        logits: Address,
        /// Logits of a row; at least 1.
        vocab: u32,
        /// Rows.
        rows: u32,
        /// u32 `[rows]`: the token of each row.
        tokens: Address,
        /// The temperature, at least 0; 0 is greedy.
        temperature: f32,
        /// f32 `[rows]`, written.
        log_probs: Address,
        /// f32 `[rows]`, written.
        entropies: Address,
        /// f32 `[rows]`, written: the sum of each row's weights.
        sums: Address,
        /// u32 `[rows]`: where a logit over the temperature is not finite, the smaller of what stands there and `code`.
        faults: Address,
        /// u32: 1 after any fault.
        halt: Address,
        /// What this launch writes into `faults`.
        code: u32,
    }
    shape(launch) { LaunchShape::line(launch.rows, ROW_THREADS) }
}

kernel! {
    /// The gradient of the loss for each target's log-probability, times the target's weight.
    pub struct TokenGradient = "loss.cu"::"token_gradient" {
        /// f32 `[count]`: log-probabilities under the policy that is trained.
        log_probs: Address,
        /// f32 `[count]`: under the policy that sampled; not read for cross entropy.
        rollout_log_probs: Address,
        /// f32 `[count]`; not read for cross entropy.
        advantages: Address,
        /// f32 `[count]`: the weight of each target's sequence.
        weights: Address,
        /// Targets.
        count: u32,
        /// An [`ObjectiveCode`].
        objective: u32,
        /// Targets of the whole optimiser step.
        divisor: f32,
        /// How far a probability may have fallen where the advantage is not positive.
        delta_low: f32,
        /// How far a probability may have risen where the advantage is positive.
        delta_high: f32,
        /// f32 `[count]`, written.
        gradients: Address,
        /// u32 `[count]`, written: 1 where the token is trained on.
        keep: Address,
        /// u32: 1 after a token that cannot be trained on; the CPU's rule says which and why.
        halt: Address,
    }
    shape(launch) { LaunchShape::line(launch.count.div_ceil(TOKEN_THREADS), TOKEN_THREADS) }
}

kernel! {
    /// Weights become the gradient of the logits: `(gradient / temperature) (onehot - weight / sum)`; zeros where the
    /// gradient is 0.
    pub struct LogitGradient = "loss.cu"::"logit_gradient" {
        /// f32 `[rows, vocab]`: weights of [`LogSoftmax`]; gradients are written over them.
        logits: Address,
        /// Logits of a row.
        vocab: u32,
        /// Rows.
        rows: u32,
        /// u32 `[rows]`: the token of each row.
        tokens: Address,
        /// f32 `[rows]` of [`LogSoftmax`].
        sums: Address,
        /// f32 `[rows]`: the gradient of each log-probability.
        gradients: Address,
        /// The temperature; above 0.
        temperature: f32,
    }
    shape(launch) { LaunchShape::line(launch.rows, ROW_THREADS) }
}
