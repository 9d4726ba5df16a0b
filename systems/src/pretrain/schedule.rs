//! How many steps pre-training takes, and at which learning rate.

use tadpole_scenarios::schema::PretrainScenario;

/// Steps of each stage: as many as its tokens fill batches, the last one rounded up.
#[must_use]
pub fn steps_by_stage(scenario: &PretrainScenario) -> Vec<u64> {
    let batch = u64::from(scenario.batch_tokens);
    scenario.stages.iter().map(|stage| stage.tokens.div_ceil(batch)).collect()
}

/// The factor on both learning rates at `step` (from 0) of `steps`: up linearly over the first share, down linearly over the
/// last.
#[must_use]
pub fn rate_factor(scenario: &PretrainScenario, step: u64, steps: u64) -> f32 {
    let optimiser = &scenario.optimiser;
    let place = (step + 1) as f64 / steps.max(1) as f64;
    let rising = if optimiser.warmup > 0.0 { (place / optimiser.warmup).min(1.0) } else { 1.0 };
    let left = (1.0 - place) / optimiser.decay.max(f64::MIN_POSITIVE);
    let last = f64::from(optimiser.final_rate);
    let falling = last + (1.0 - last) * left.min(1.0);
    (rising * falling) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_holds_and_falls_to_its_last_value() {
        let mut scenario = PretrainScenario::default();
        scenario.optimiser.warmup = 0.1;
        scenario.optimiser.decay = 0.5;
        scenario.optimiser.final_rate = 0.05;
        let at = |step| rate_factor(&scenario, step, 100);
        assert!((at(0) - 0.1).abs() < 1e-6);
        assert!((at(9) - 1.0).abs() < 1e-6 && (at(49) - 1.0).abs() < 1e-6);
        assert!((at(74) - 0.525).abs() < 1e-6, "{}", at(74));
        assert!((at(99) - 0.05).abs() < 1e-6);
    }

    #[test]
    fn stages_take_as_many_steps_as_their_tokens_fill() {
        let scenario = PretrainScenario { batch_tokens: 1_000, ..PretrainScenario::default() };
        let total: u64 = scenario.stages.iter().map(|stage| stage.tokens).sum();
        assert_eq!(steps_by_stage(&scenario).iter().sum::<u64>(), total / 1_000);
    }
}
