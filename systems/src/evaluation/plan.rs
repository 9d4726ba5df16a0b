//! Which evaluation comes next.

use tadpole_kernel::world::Progress;
use tadpole_scenarios::schema::{HeldOutSet, Scenario, When};

/// One measurement of a policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement<'a> {
    /// Its place in the scenario's plan; part of the randomness, so that two measurements of one task draw apart.
    pub index: u32,
    /// The held-out set.
    pub set: &'a HeldOutSet,
    /// Sampling temperature; 0 is greedy.
    pub temperature: f32,
    /// Trajectories a task.
    pub samples: u32,
}

/// Every measurement that the policy of `iteration` is due, in order.
pub fn measurements(recipe: &Scenario, iteration: u32) -> impl Iterator<Item = Measurement<'_>> {
    let ends = iteration == 0 || iteration == recipe.iterations;
    let sampled = |set: &'_ HeldOutSet| (set.temperature, set.samples);
    recipe
        .evaluation
        .sets
        .iter()
        .flat_map(move |set| {
            let greedy = set.greedy.then_some((0.0, 1));
            std::iter::once(sampled(set))
                .chain(greedy)
                .map(move |(temperature, samples)| (set, temperature, samples))
        })
        .enumerate()
        .filter(move |(_, (set, _, _))| ends || set.when == When::Every)
        .map(|(index, (set, temperature, samples))| Measurement {
            index: index as u32,
            set,
            temperature,
            samples,
        })
}

/// The measurements that the policy published last is still due, in order.
pub fn due<'a>(progress: &Progress, recipe: &'a Scenario) -> impl Iterator<Item = Measurement<'a>> {
    measurements(recipe, progress.iteration.0).filter(|due| {
        let key = (due.set.name.as_str(), due.temperature.to_bits());
        !progress.evaluated.iter().any(|(set, bits)| (set.as_str(), *bits) == key)
    })
}

/// The next measurement of the policy published last, if one is due.
#[must_use]
pub fn next<'a>(progress: &Progress, recipe: &'a Scenario) -> Option<Measurement<'a>> {
    due(progress, recipe).next()
}
