//! What an objective makes of log-probabilities, and the report of a step: the same on every backend.

use super::{Objective, SequenceReport, StepReport, TrainSequence};
use crate::dppo::{Tally, Tokens};
use crate::error::ArithmeticError;
use crate::optim::{OptimError, StepFacts};

/// What an objective says about the targets of a sequence.
pub(crate) struct Judgement {
    /// The gradient of the loss for each target's log-probability.
    pub(crate) gradients: Vec<f32>,
    /// Whether each target is trained on.
    pub(crate) keep: Vec<bool>,
    /// Sums over the targets.
    pub(crate) tally: Tally,
}

/// Judges the targets of the sequence at `index` of a step with `n_tokens` targets in all.
pub(crate) fn judge(
    objective: &Objective,
    sequence: &TrainSequence,
    index: usize,
    log_probs: &[f32],
    n_tokens: u64,
) -> Result<Judgement, ArithmeticError> {
    let weight = sequence.weight;
    let Objective::Dppo(params) = objective else {
        return Ok(cross_entropy(log_probs, weight, n_tokens));
    };
    let mut tally = Tally::default();
    let tokens = Tokens {
        new_lp: log_probs,
        rollout_lp: &sequence.rollout_log_probs,
        advantages: &sequence.advantages,
        mask: None,
    };
    let part = tokens
        .gradients(n_tokens, params, &mut tally)
        .map_err(|error| ArithmeticError::Dppo { sequence: index, error })?;
    tally.weighted_sum *= f64::from(weight);
    let gradients = part.grad.iter().map(|gradient| gradient * weight).collect();
    Ok(Judgement { gradients, keep: part.keep, tally })
}

/// Every target is kept; its gradient is `-weight / |T|`.
fn cross_entropy(log_probs: &[f32], weight: f32, n_tokens: u64) -> Judgement {
    let gradient = -(weight / n_tokens as f32);
    let tokens = log_probs.len() as u64;
    let mut tally = Tally { tokens, kept: tokens, ratio_max: 1.0, ..Tally::default() };
    for &log_prob in log_probs {
        tally.weighted_sum += f64::from(weight) * f64::from(log_prob);
    }
    Judgement { gradients: vec![gradient; log_probs.len()], keep: vec![true; log_probs.len()], tally }
}

/// The sums of a step from those of its sequences, in their order.
pub(crate) fn total<'a>(parts: impl Iterator<Item = &'a Tally>) -> Tally {
    let mut total = Tally::default();
    for part in parts {
        total.tokens += part.tokens;
        total.kept += part.kept;
        total.weighted_sum += part.weighted_sum;
        total.kl_sum += part.kl_sum;
        if part.ratio_max > total.ratio_max {
            total.ratio_max = part.ratio_max;
        }
    }
    total
}

/// What a step did.
pub(crate) fn step_report(tally: &Tally, facts: StepFacts, sequences: Vec<SequenceReport>) -> StepReport {
    let entropies = sequences.iter().flat_map(|report| &report.entropies);
    StepReport {
        loss: tally.loss(tally.tokens),
        tokens: tally.tokens,
        kept: tally.kept,
        gradient_norm: facts.gradient_norm,
        gradient_scale: facts.gradient_scale,
        ratio_max: tally.ratio_max,
        kl_sum: tally.kl_sum,
        entropy_sum: entropies.fold(0.0, |sum, &entropy| sum + f64::from(entropy)),
        sequences,
    }
}

/// A refused step of the optimiser.
pub(crate) fn step_error(error: &OptimError) -> ArithmeticError {
    ArithmeticError::Step(error.to_string())
}
