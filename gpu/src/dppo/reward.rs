//! What a graded trajectory is worth, and the length penalty.

use thiserror::Error;

use crate::math::double;

/// The reward of a trajectory that was cut off, yet passes all tests.
pub const TRUNCATED_REWARD: f64 = 0.5;

/// How a trajectory ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Finished by itself, all grading tests pass.
    Success,
    /// Cut off by a limit, all grading tests pass.
    TruncatedCorrect,
    /// Some grading test fails.
    Failure,
}

impl Outcome {
    /// The reward before the length term: 1, 0.5 or 0. Decides whether a group is informative.
    pub fn raw_reward(self) -> f64 {
        match self {
            Self::Success => 1.0,
            Self::TruncatedCorrect => TRUNCATED_REWARD,
            Self::Failure => 0.0,
        }
    }

    /// The reward that is normalised: the raw one, less the length term for a success.
    pub fn shaped_reward(self, tokens: u64, penalty: Option<&LengthPenalty>) -> f64 {
        match (self, penalty) {
            (Self::Success, Some(penalty)) => penalty.success_reward(tokens),
            _ => self.raw_reward(),
        }
    }
}

/// `R = 1 - alpha ln(n/N)` for a success of `n` tokens, beyond `N` free ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthPenalty {
    /// What a success loses each time its length grows by a factor of e.
    pub alpha: f64,
    /// `N`: up to so many tokens cost nothing.
    pub free_tokens: u64,
}

/// Why a length penalty is refused.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum LengthPenaltyError {
    /// `alpha` is negative or not finite.
    #[error("alpha = {0} is not a finite number of at least 0")]
    Alpha(f64),
    /// There must be at least one free token.
    #[error("the number of free tokens is 0")]
    FreeTokens,
    /// A long success would be worth no more than a trajectory that did not succeed.
    #[error(
        "a success of {tokens_max} tokens would have reward {reward}, not above the {TRUNCATED_REWARD} of a truncated \
         trajectory; alpha must be below {alpha_max}"
    )]
    Inversion {
        /// The longest trajectory possible.
        tokens_max: u64,
        /// What a success of that length would get.
        reward: f64,
        /// The bound on `alpha` for this length.
        alpha_max: f64,
    },
}

impl LengthPenalty {
    /// The reward of a success of `tokens` generated tokens.
    pub fn success_reward(&self, tokens: u64) -> f64 {
        if tokens <= self.free_tokens {
            return 1.0;
        }
        1.0 - self.alpha * double::ln(tokens as f64 / self.free_tokens as f64)
    }

    /// Refuses a penalty under which a success of at most `tokens_max` tokens could be worth no more than a truncated
    /// trajectory, and so no more than a failure. The reward falls with length, so the longest decides.
    pub fn check(&self, tokens_max: u64) -> Result<(), LengthPenaltyError> {
        if !(self.alpha.is_finite() && self.alpha >= 0.0) {
            return Err(LengthPenaltyError::Alpha(self.alpha));
        }
        if self.free_tokens == 0 {
            return Err(LengthPenaltyError::FreeTokens);
        }
        let reward = self.success_reward(tokens_max);
        if reward > TRUNCATED_REWARD {
            return Ok(());
        }
        let alpha_max = (1.0 - TRUNCATED_REWARD) / double::ln(tokens_max as f64 / self.free_tokens as f64);
        Err(LengthPenaltyError::Inversion { tokens_max, reward, alpha_max })
    }
}
