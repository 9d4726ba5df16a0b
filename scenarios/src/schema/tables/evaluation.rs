//! `[evaluation]`: held-out sets.

use crate::schema::check::{Anything, Each, Length, Name};
use crate::schema::table::{Table, keys};
use crate::schema::value::choice;
use crate::world::Split;

choice! {
    /// Which published policies are measured.
    pub enum When {
        /// The base and that of each iteration.
        Every = "every",
        /// The base and the last.
        Ends = "ends",
    }
}

keys! {
    /// How policies are measured: on tasks that no training, no pre-training and no tokenizer saw.
    pub struct Evaluation {
        /// The held-out sets. The first is the one in the table of iterations.
        sets: Vec<HeldOutSet> = default_sets(), Length(1..=16);
    }
}

keys! {
    /// A held-out set.
    pub struct HeldOutSet {
        /// Its name, unique in the scenario.
        name: String = String::new(), Name;
        /// `unseen_parameters`: parameters that never train, of templates that do; `unseen_templates`: templates that never
        /// train.
        split: Split = Split::UnseenParameters, Anything;
        /// Seed of the draw. It is apart from the run seed, so that runs with different seeds are measured on the same tasks.
        seed: u64 = 1, 0..=9_223_372_036_854_775_807;
        /// Tasks.
        tasks: u32 = 240, 1..=65_536;
        /// Trajectories a task.
        samples: u32 = 1, 1..=1_024;
        /// Sampling temperature.
        temperature: f32 = 0.6, 0.0..=10.0;
        /// Whether it is measured greedily as well, one trajectory a task.
        greedy: bool = false, Anything;
        /// For which k an unbiased pass@k is given; none above `samples`.
        pass_at: Vec<u32> = vec![1], Each(0..=16, 1..=1_024);
        /// Which published policies are measured: "every", or "ends" for the base and the last.
        when: When = When::Every, Anything;
    }
}

fn default_sets() -> Vec<HeldOutSet> {
    let set =
        |name: &str, split, seed| HeldOutSet { name: name.into(), split, seed, ..HeldOutSet::defaults() };
    let ends = |set: HeldOutSet| HeldOutSet {
        samples: 8,
        greedy: true,
        pass_at: vec![1, 8],
        when: When::Ends,
        ..set
    };
    vec![
        set("parameters", Split::UnseenParameters, 1),
        ends(set("templates", Split::UnseenTemplates, 2)),
        ends(set("final", Split::UnseenParameters, 3)),
    ]
}
