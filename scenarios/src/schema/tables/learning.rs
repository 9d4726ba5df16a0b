//! `[rollout]`, `[update]` and `[reward]`: how a policy learns from a batch.

use crate::schema::check::{Above, Anything, Below};
use crate::schema::table::keys;
use crate::schema::value::choice;

choice! {
    /// How far the current policy may move from the one that sampled a token before the token is dropped.
    pub enum Divergence {
        /// Difference of the two probabilities of the token.
        Tv = "tv",
        /// Kullback-Leibler divergence of the two-way distributions {token, any other}.
        Kl = "kl",
    }
}

choice! {
    /// Which standard deviation an advantage is divided by.
    pub enum Deviation {
        /// Of the sample: divided by G - 1.
        Sample = "sample",
        /// Of the population: divided by G.
        Population = "population",
    }
}

keys! {
    /// How trajectories are sampled for training.
    pub struct Rollout {
        /// G: trajectories of one task in one update.
        group: u32 = 8, 2..=1_024;
        /// Sampling temperature, in calibration too.
        temperature: f32 = 1.0, Above(0.0, 10.0);
        /// L: update u trains on trajectories of version max(0, u - L). At 0 every ratio is 1 and no token is ever dropped.
        lag: u32 = 1, 0..=64;
    }
}

keys! {
    /// DPPO and the optimiser.
    pub struct Update {
        /// Groups of one update.
        groups: u32 = 32, 1..=65_536;
        /// Updates of an iteration. They visit the tasks of the batch in order, round and round.
        updates: u32 = 16, 1..=65_536;
        /// Passes over the batch with the same trajectories; more than 1 only with `curriculum.train_on_calibration`.
        epochs: u32 = 1, 1..=64;
        /// Learning rate of `AdamW`. Small and constant lets all iterations gain; 8e-4 unlearns noise in one and then stalls.
        learning_rate: f32 = 1.5e-4, Above(0.0, 1.0);
        /// Updates at the start of each iteration over which the learning rate rises linearly to its value.
        warmup: u32 = 0, 0..=65_536;
        /// Factor on the learning rate from one iteration to the next.
        decay: f32 = 1.0, Above(0.0, 1.0);
        /// `AdamW`: decay of the first moment.
        beta1: f32 = 0.9, Below(0.0, 1.0);
        /// `AdamW`: decay of the second moment.
        beta2: f32 = 0.95, Below(0.0, 1.0);
        /// `AdamW`: added to the root of the second moment.
        epsilon: f32 = 1e-8, Above(0.0, 1.0);
        /// `AdamW`: decoupled weight decay.
        weight_decay: f32 = 0.0, 0.0..=1.0;
        /// Largest norm of the whole gradient.
        clip: f32 = 1.0, Above(0.0, 1e6);
        /// Divergence that the mask is about: "tv" or "kl".
        divergence: Divergence = Divergence::Tv, Anything;
        /// A token of positive advantage is dropped when its divergence upwards exceeds this.
        delta_high: f32 = 0.2, Above(0.0, 100.0);
        /// A token of any other advantage is dropped when its divergence downwards exceeds this.
        delta_low: f32 = 0.2, Above(0.0, 100.0);
        /// Standard deviation within a group: "sample" (over G - 1) or "population" (over G).
        std: Deviation = Deviation::Sample, Anything;
        /// Whether optimiser moments start at zero in each iteration.
        reset_moments: bool = true, Anything;
        /// The published policy is the mean of the weights after updates `averaging_from` (counted from 0) and later; the
        /// number of updates less 1 publishes the last weights as they are.
        averaging_from: u32 = 5, 0..=65_535;
        /// Whether further tasks of the batch take the place of groups whose rewards are all equal; otherwise such groups shrink
        /// the update.
        refill: bool = false, Anything;
    }
}

keys! {
    /// What an episode is worth: 1 when it solves the task and ends by itself, 0 when it does not solve it.
    pub struct Reward {
        /// Of an episode that was cut but whose edits pass every grading test.
        truncated: f32 = 0.5, Below(0.0, 1.0);
        /// The length penalty.
        length: Length = Length::default(), Anything;
    }
}

keys! {
    /// The length penalty: a completed success of n > N tokens is worth 1 - alpha ln(n / N). Refused where a success could fall
    /// to the worth of a truncated one or of a failure.
    pub struct Length {
        /// First iteration that has it; 0 for none.
        from_iteration: u32 = 3, 0..=100_000;
        /// N: sampled tokens that are free.
        free_tokens: u32 = 64, 1..=1_048_576;
        /// Its weight.
        alpha: f32 = 0.1, 0.0..=10.0;
    }
}

impl Length {
    /// Whether the penalty applies in `iteration`.
    pub fn applies(&self, iteration: u32) -> bool {
        self.from_iteration != 0 && iteration >= self.from_iteration
    }
}
