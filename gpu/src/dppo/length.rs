//! The length penalty.

use crate::math::double;

/// `R = 1 - alpha ln(n/N)` for a success of `n` tokens, beyond `N` free ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthPenalty {
    /// What a success loses each time its length grows by a factor of e.
    pub alpha: f64,
    /// `N`, at least 1: up to so many tokens cost nothing.
    pub free_tokens: u64,
}

impl LengthPenalty {
    /// The reward of a success of `tokens` generated tokens.
    pub fn success_reward(&self, tokens: u64) -> f64 {
        if tokens <= self.free_tokens {
            return 1.0;
        }
        1.0 - self.alpha * double::ln(tokens as f64 / self.free_tokens as f64)
    }
}
