//! Token limits of an episode. Pure arithmetic, shared by whatever samples tokens.

use super::{Exit, Finish};

/// Limits in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBudget {
    /// The whole history, prompt and observations included.
    pub context: u32,
    /// What a policy may sample in one turn, its end-of-turn token included.
    pub turn: u32,
}

/// What a turn may sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Tokens, at least 1, the end-of-turn token included.
    pub tokens: u32,
    /// How the turn is cut if these are spent without an end-of-turn token.
    pub cut: Finish,
}

impl TokenBudget {
    /// What the next turn may sample behind a history of `length` tokens; the exit where nothing is left. Where both
    /// limits meet, the context is the one that ends the turn: nothing could follow it.
    pub fn allowance(&self, length: usize) -> Result<Allowance, Exit> {
        let left = u32::try_from(length).map_or(0, |length| self.context.saturating_sub(length));
        match left.min(self.turn) {
            0 => Err(Exit::MaxContext),
            tokens if left <= self.turn => Ok(Allowance { tokens, cut: Finish::Context }),
            tokens => Ok(Allowance { tokens, cut: Finish::TurnTokens }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_cut_by_whichever_limit_is_nearer() {
        let budget = TokenBudget { context: 100, turn: 30 };
        assert_eq!(budget.allowance(10), Ok(Allowance { tokens: 30, cut: Finish::TurnTokens }));
        assert_eq!(budget.allowance(70), Ok(Allowance { tokens: 30, cut: Finish::Context }));
        assert_eq!(budget.allowance(99), Ok(Allowance { tokens: 1, cut: Finish::Context }));
        assert_eq!(budget.allowance(100), Err(Exit::MaxContext));
        assert_eq!(budget.allowance(usize::MAX), Err(Exit::MaxContext));
    }
}
