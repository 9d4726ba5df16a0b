//! What an episode is worth.

use tadpole_gpu::dppo::LengthPenalty;
use tadpole_kernel::event::{Exit, Grade};
use tadpole_scenarios::schema::Scenario;

/// 1 for a completed success, the scenario's `reward.truncated` for one that was cut off but correct, otherwise 0.
#[must_use]
pub fn raw_reward(recipe: &Scenario, exit: Exit, grade: Grade) -> f32 {
    match (grade, exit) {
        (Grade::Resolved, Exit::Final) => 1.0,
        (Grade::Resolved, Exit::MaxTurns | Exit::MaxContext | Exit::MaxTurnTokens) => recipe.reward.truncated,
        _ => 0.0,
    }
}

/// The raw reward with the length term, which only completed successes of the iterations that have it pay.
#[must_use]
pub fn shaped_reward(recipe: &Scenario, iteration: u32, exit: Exit, raw: f32, sampled: u32) -> f32 {
    let length = &recipe.reward.length;
    if exit != Exit::Final || raw < 1.0 || !length.applies(iteration) {
        return raw;
    }
    let penalty =
        LengthPenalty { alpha: f64::from(length.alpha), free_tokens: u64::from(length.free_tokens) };
    penalty.success_reward(u64::from(sampled)) as f32
}
