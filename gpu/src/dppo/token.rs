//! The rule for one token.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::real::Real;

/// A log-probability may stand this far above 0 by rounding; it then counts as 0.
pub const LOG_PROB_SLACK: f64 = 1e-6;

/// What measures how far a token's probability has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Divergence {
    /// Total variation of "this token or another": `|p - q|`.
    #[default]
    Tv,
    /// Kullback-Leibler divergence of "this token or another", from rollout to new:
    /// `q ln(q/p) + (1-q) ln((1-q)/(1-p))`.
    Kl,
}

/// When a token is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DppoParams {
    /// How far a probability may have fallen where the advantage is not positive.
    pub delta_low: f64,
    /// How far a probability may have risen where the advantage is positive.
    pub delta_high: f64,
    /// What the two thresholds measure.
    pub divergence: Divergence,
}

impl Default for DppoParams {
    fn default() -> Self {
        Self { delta_low: 0.2, delta_high: 0.2, divergence: Divergence::Tv }
    }
}

/// Why a token cannot be trained on.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum TokenFault {
    /// The new log-probability is NaN.
    #[error("its new log-probability is NaN")]
    NewNan,
    /// The new log-probability is above 0 by more than rounding.
    #[error("its new log-probability {0} is above 0")]
    NewPositive(f64),
    /// The rollout log-probability is NaN.
    #[error("its rollout log-probability is NaN")]
    RolloutNan,
    /// The rollout log-probability is above 0 by more than rounding.
    #[error("its rollout log-probability {0} is above 0")]
    RolloutPositive(f64),
    /// The token was sampled, so it cannot have had probability 0.
    #[error("its rollout log-probability {0} means probability 0, yet it was sampled")]
    RolloutZero(f64),
    /// The advantage is NaN or infinite.
    #[error("its advantage is not finite")]
    Advantage,
    /// The ratio of the probabilities overflows.
    #[error("the ratio of its probabilities overflows (log-ratio {0})")]
    Ratio(f64),
    /// Advantage times ratio overflows.
    #[error("its gradient overflows")]
    Gradient,
}

/// A token's probabilities, ratio and fate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged<T> {
    /// Probability under the policy that is trained.
    pub p: T,
    /// Probability under the policy that sampled.
    pub q: T,
    /// `p / q`, from the log-probabilities; exactly 0 where `p` is 0.
    pub ratio: T,
    /// `lp - lp_rollout`.
    pub log_ratio: T,
    /// Whether the token is trained on.
    pub keep: bool,
}

/// Applies the rule to one trainable token.
pub fn judge<T: Real>(
    new_lp: T,
    rollout_lp: T,
    advantage: T,
    params: &DppoParams,
) -> Result<Judged<T>, TokenFault> {
    if new_lp.is_nan() {
        return Err(TokenFault::NewNan);
    }
    if rollout_lp.is_nan() {
        return Err(TokenFault::RolloutNan);
    }
    if !advantage.is_finite() {
        return Err(TokenFault::Advantage);
    }
    let new_lp = at_most_zero(new_lp).ok_or(TokenFault::NewPositive(new_lp.to_double()))?;
    let rollout_lp = at_most_zero(rollout_lp).ok_or(TokenFault::RolloutPositive(rollout_lp.to_double()))?;
    let (p, q) = (new_lp.exp(), rollout_lp.exp());
    if q <= T::ZERO {
        return Err(TokenFault::RolloutZero(rollout_lp.to_double()));
    }
    let log_ratio = new_lp - rollout_lp;
    let ratio = if p > T::ZERO { log_ratio.exp() } else { T::ZERO };
    if !ratio.is_finite() {
        return Err(TokenFault::Ratio(log_ratio.to_double()));
    }
    let drop = match params.divergence {
        Divergence::Tv => beyond_tv(p - q, advantage, params),
        Divergence::Kl => {
            let divergence = binary_kl(rollout_lp, new_lp, q, p);
            beyond_kl(divergence, p, q, advantage, params)
        }
    };
    Ok(Judged { p, q, ratio, log_ratio, keep: !drop })
}

/// The log-probability, with what rounding put above 0 taken back; `None` where it is more than rounding.
fn at_most_zero<T: Real>(lp: T) -> Option<T> {
    if lp > T::from_double(LOG_PROB_SLACK) {
        None
    } else if lp > T::ZERO {
        Some(T::ZERO)
    } else {
        Some(lp)
    }
}

fn beyond_tv<T: Real>(difference: T, advantage: T, params: &DppoParams) -> bool {
    if advantage > T::ZERO {
        difference > T::from_double(params.delta_high)
    } else {
        difference < -T::from_double(params.delta_low)
    }
}

fn beyond_kl<T: Real>(divergence: T, p: T, q: T, advantage: T, params: &DppoParams) -> bool {
    if advantage > T::ZERO {
        p > q && divergence > T::from_double(params.delta_high)
    } else {
        p < q && divergence > T::from_double(params.delta_low)
    }
}

/// `q ln(q/p) + (1-q) ln((1-q)/(1-p))` with `0 ln 0 = 0`; infinite where `p` excludes what `q` allows.
fn binary_kl<T: Real>(log_q: T, log_p: T, q: T, p: T) -> T {
    let this = q * (log_q - log_p);
    let not_q = T::ONE - q;
    let others = if not_q > T::ZERO { not_q * (not_q.ln() - (T::ONE - p).ln()) } else { T::ZERO };
    this + others
}
