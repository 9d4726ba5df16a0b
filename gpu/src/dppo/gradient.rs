//! Loss and gradient over the trainable tokens of an optimiser step, whole or in micro-batches.

use thiserror::Error;

use super::real::Real;
use super::token::{DppoParams, Judged, TokenFault, judge};

/// Terms of the series of `e^d - 1 - d` for `|d| <= 1/2`: the next one is below `2^-53` of the sum.
const KL_TERMS: u32 = 16;
/// Up to this size of the log-ratio the series is used, above it the difference, which then cancels little.
const KL_SERIES_MAX: f64 = 0.5;

/// Tokens side by side: four columns of equal length.
#[derive(Clone, Copy, Debug)]
pub struct Tokens<'a, T> {
    /// Log-probabilities under the policy that is trained.
    pub new_lp: &'a [T],
    /// Log-probabilities under the policy that sampled, of the distribution sampled from.
    pub rollout_lp: &'a [T],
    /// Advantage of the trajectory that each token belongs to.
    pub advantages: &'a [T],
    /// Which tokens are trainable; what the other columns hold elsewhere is never looked at. `None`: all are.
    pub mask: Option<&'a [bool]>,
}

/// Sums over the trainable tokens of an optimiser step, taken one by one in token order.
///
/// Carried from one micro-batch to the next, it ends with the same bits however the step was cut.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Trainable tokens seen.
    pub tokens: u64,
    /// Of these, tokens kept.
    pub kept: u64,
    /// Sum of advantage times ratio over the kept tokens.
    pub weighted_sum: f64,
    /// Sum of `(rho - 1) - ln rho` over the tokens with `p > 0`: times `1 / tokens`, an estimate of the divergence from
    /// the rollout policy to the new one.
    pub kl_sum: f64,
    /// The largest ratio.
    pub ratio_max: f64,
}

impl Tally {
    /// `L` when the step has `n_tokens` trainable tokens in all; 0 where it has none.
    pub fn loss(&self, n_tokens: u64) -> f64 {
        if n_tokens == 0 { 0.0 } else { -self.weighted_sum / n_tokens as f64 }
    }

    fn add<T: Real>(&mut self, token: &Judged<T>, advantage: T) {
        self.tokens += 1;
        let ratio = token.ratio.to_double();
        if token.keep {
            self.kept += 1;
            self.weighted_sum += advantage.to_double() * ratio;
        }
        if token.p > T::ZERO {
            self.kl_sum += kl_term(token.log_ratio.to_double(), ratio);
        }
        if ratio > self.ratio_max {
            self.ratio_max = ratio;
        }
    }
}

/// `(e^d - 1) - d`, never below 0; `ratio` is `e^d`.
fn kl_term(d: f64, ratio: f64) -> f64 {
    if d.abs() > KL_SERIES_MAX {
        return (ratio - 1.0) - d;
    }
    let mut series = 1.0;
    for k in (3..KL_TERMS).rev() {
        series = 1.0 + d / f64::from(k) * series;
    }
    0.5 * d * d * series
}

/// What [`token_gradients`] returns, one entry a token given.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenGradients<T> {
    /// `dL/dlp`; exactly 0 for dropped and masked tokens.
    pub grad: Vec<T>,
    /// Whether the token is trained on; false for masked tokens.
    pub keep: Vec<bool>,
    /// The part of `L` that these tokens make up.
    pub loss: f64,
    /// The largest ratio; 0 where no token is trainable.
    pub ratio_max: f64,
    /// Sum of `(rho - 1) - ln rho`.
    pub kl_sum: f64,
}

/// Why an update is refused.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DppoError {
    /// The columns do not have the same length.
    #[error("{column} has {found} entries for {expected} tokens")]
    Length {
        /// The column that differs.
        column: &'static str,
        /// Its length.
        found: usize,
        /// The length of the first column.
        expected: usize,
    },
    /// A threshold is negative or not finite.
    #[error("{name} = {value} is not a finite number of at least 0")]
    Threshold {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// More trainable tokens than the step is said to have.
    #[error("{found} trainable tokens, but the step has {n_tokens} in all")]
    TokenCount {
        /// Trainable tokens so far.
        found: u64,
        /// What the caller said.
        n_tokens: u64,
    },
    /// A token cannot be trained on.
    #[error("token {index}: {fault}")]
    Token {
        /// Its place in the columns.
        index: usize,
        /// What is wrong with it.
        fault: TokenFault,
    },
}

/// Loss and gradient over trainable tokens, of which the optimiser step has `n_tokens` in all.
pub fn token_gradients<T: Real>(
    new_lp: &[T],
    rollout_lp: &[T],
    advantages: &[T],
    n_tokens: u64,
    params: &DppoParams,
) -> Result<TokenGradients<T>, DppoError> {
    Tokens { new_lp, rollout_lp, advantages, mask: None }.gradients(n_tokens, params, &mut Tally::default())
}

impl<T: Real> Tokens<'_, T> {
    /// Loss and gradient of these tokens, of which the optimiser step has `n_tokens` trainable ones in all.
    ///
    /// `tally` carries the sums from micro-batch to micro-batch; the figures returned are of these tokens alone.
    /// After an error it is as it was.
    pub fn gradients(
        &self,
        n_tokens: u64,
        params: &DppoParams,
        tally: &mut Tally,
    ) -> Result<TokenGradients<T>, DppoError> {
        params.check()?;
        self.check_lengths()?;
        let mut step = *tally;
        let mut own = Tally::default();
        let mut grad = vec![T::ZERO; self.new_lp.len()];
        let mut keep = vec![false; self.new_lp.len()];
        let divisor = T::from_double(n_tokens as f64);
        for index in 0..self.new_lp.len() {
            if self.mask.is_some_and(|mask| !mask[index]) {
                continue;
            }
            let advantage = self.advantages[index];
            let at = |fault| DppoError::Token { index, fault };
            let token = judge(self.new_lp[index], self.rollout_lp[index], advantage, params).map_err(at)?;
            step.add(&token, advantage);
            own.add(&token, advantage);
            if step.tokens > n_tokens {
                return Err(DppoError::TokenCount { found: step.tokens, n_tokens });
            }
            keep[index] = token.keep;
            if token.keep && token.ratio > T::ZERO {
                grad[index] = -(advantage * token.ratio) / divisor;
                if !grad[index].is_finite() {
                    return Err(at(TokenFault::Gradient));
                }
            }
        }
        *tally = step;
        let (loss, ratio_max, kl_sum) = (own.loss(n_tokens), own.ratio_max, own.kl_sum);
        Ok(TokenGradients { grad, keep, loss, ratio_max, kl_sum })
    }

    fn check_lengths(&self) -> Result<(), DppoError> {
        let expected = self.new_lp.len();
        let columns = [
            ("rollout_lp", self.rollout_lp.len()),
            ("advantages", self.advantages.len()),
            ("mask", self.mask.map_or(expected, <[bool]>::len)),
        ];
        match columns.into_iter().find(|&(_, found)| found != expected) {
            Some((column, found)) => Err(DppoError::Length { column, found, expected }),
            None => Ok(()),
        }
    }
}

impl DppoParams {
    /// Refuses thresholds that are negative or not finite.
    pub fn check(&self) -> Result<(), DppoError> {
        let thresholds = [("delta_low", self.delta_low), ("delta_high", self.delta_high)];
        match thresholds.into_iter().find(|&(_, value)| !(value.is_finite() && value >= 0.0)) {
            Some((name, value)) => Err(DppoError::Threshold { name, value }),
            None => Ok(()),
        }
    }
}
