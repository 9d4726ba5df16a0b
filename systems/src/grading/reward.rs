//! What an episode is worth.

use tadpole_gpu::dppo::LengthPenalty;
use tadpole_kernel::event::{Exit, Grade};
use tadpole_scenarios::schema::Reward;

/// The reward before the length term: 1 for a completed success, `rules.truncated` for one that was cut off but correct, 0 for
/// anything else. `None` where something outside the policy failed: that is no reward at all, and not one of 0.
#[must_use]
pub fn raw_reward(rules: &Reward, exit: Exit, grade: Grade) -> Option<f32> {
    match (grade, exit) {
        (Grade::Infra, _) | (_, Exit::Infra) => None,
        (Grade::Resolved, Exit::Final) => Some(1.0),
        (Grade::Resolved, Exit::MaxTurns | Exit::MaxContext | Exit::MaxTurnTokens) => Some(rules.truncated),
        (Grade::Unresolved | Grade::Exhausted | Grade::Watchdog | Grade::Aborted, _) => Some(0.0),
    }
}

/// The raw reward with the length term over `sampled` tokens, which only completed successes of the iterations that have it
/// pay.
#[must_use]
pub fn shaped_reward(rules: &Reward, iteration: u32, exit: Exit, raw: f32, sampled: u32) -> f32 {
    let length = &rules.length;
    if exit != Exit::Final || raw < 1.0 || !length.applies(iteration) {
        return raw;
    }
    let penalty =
        LengthPenalty { alpha: f64::from(length.alpha), free_tokens: u64::from(length.free_tokens) };
    penalty.success_reward(u64::from(sampled)) as f32
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "rewards are exact")]
mod tests {
    use tadpole_scenarios::schema::LengthPenalty as Length;

    use super::*;

    const CUT: [Exit; 3] = [Exit::MaxTurns, Exit::MaxContext, Exit::MaxTurnTokens];
    const FAILED: [Grade; 4] = [Grade::Unresolved, Grade::Exhausted, Grade::Watchdog, Grade::Aborted];

    fn rules() -> Reward {
        Reward { truncated: 0.25, length: Length { from_iteration: 3, free_tokens: 64, alpha: 0.1 } }
    }

    #[test]
    fn a_success_is_worth_1_and_one_that_was_cut_what_the_scenario_says() {
        assert_eq!(raw_reward(&rules(), Exit::Final, Grade::Resolved), Some(1.0));
        for cut in CUT {
            assert_eq!(raw_reward(&rules(), cut, Grade::Resolved), Some(0.25));
            assert_eq!(raw_reward(&Reward::default(), cut, Grade::Resolved), Some(0.5));
        }
    }

    #[test]
    fn a_failure_is_worth_0_however_it_ended() {
        for grade in FAILED {
            for exit in CUT.into_iter().chain([Exit::Final]) {
                assert_eq!(raw_reward(&rules(), exit, grade), Some(0.0), "{exit:?}, {grade:?}");
            }
        }
    }

    #[test]
    fn a_failure_of_the_outside_is_no_reward() {
        assert_eq!(raw_reward(&rules(), Exit::Final, Grade::Infra), None);
        for grade in FAILED.into_iter().chain([Grade::Resolved]) {
            assert_eq!(raw_reward(&rules(), Exit::Infra, grade), None);
        }
    }

    #[test]
    fn only_a_completed_success_beyond_the_free_tokens_pays_for_its_length() {
        let shaped = |iteration, exit, raw, sampled| shaped_reward(&rules(), iteration, exit, raw, sampled);
        assert_eq!(shaped(3, Exit::Final, 1.0, 64), 1.0);
        let (short, long) = (shaped(3, Exit::Final, 1.0, 65), shaped(4, Exit::Final, 1.0, 448));
        assert!(0.25 < long && long < short && short < 1.0, "{short} {long}");
        assert_eq!(shaped(2, Exit::Final, 1.0, 448), 1.0);
        assert_eq!(shaped(3, Exit::MaxContext, 0.25, 448), 0.25);
        assert_eq!(shaped(3, Exit::Final, 0.0, 448), 0.0);
    }
}
