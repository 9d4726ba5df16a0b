//! Scenarios: the file that states a run completely.
//!
//! Every number of the recipe is a key with a documented default and a checked range, declared once in `tables/`. A scenario
//! states what differs from the defaults; what it becomes with every key is what a run keeps.
//!
//! ```
//! use tadpole_scenarios::schema::Scenario;
//! let scenario = Scenario::parse("seed = 7\n[curriculum]\nbatch = 64\n", "short.toml")?;
//! assert_eq!(scenario.curriculum.batch, 64);
//! assert_eq!(Scenario::parse(&scenario.to_toml(), "resolved")?, scenario);
//! # Ok::<(), tadpole_scenarios::schema::ScenarioError>(())
//! ```

mod admission;
mod change;
mod check;
mod consistency;
mod document;
mod error;
mod load;
mod logarithm;
mod pretrain;
mod table;
mod tables;
mod value;

#[cfg(test)]
mod tests;

pub use admission::{Admission, Distance, LastAdmission};
pub use change::{Change, Changeable, changes};
pub use document::Override;
pub use error::{Complaint, Location, ScenarioError};
pub use pretrain::{Demonstrations, Optimiser, PretrainScenario, Stage, TokenizerText};
pub use tables::*;

use crate::world::WorldSpec;
use check::{Anything, Name};
use table::keys;

keys! {
    /// A run, completely stated.
    pub struct Scenario {
        /// Name of the scenario, for people and directories; no part of the run's identity.
        name: String = String::from("scenario"), Name;
        /// The run seed: every random number of the run follows from it.
        seed: u64 = 1, 0..=9_223_372_036_854_775_807;
        /// Training iterations.
        iterations: u32 = 5, 1..=100_000;
        /// The base policy.
        policy: Policy = Policy::default(), Anything;
        /// The raw distribution of tasks.
        world: WorldSpec = WorldSpec::default(), Anything;
        /// What a policy sees.
        harness: Harness = Harness::default(), Anything;
        /// Where tools act.
        sandbox: Sandbox = Sandbox::default(), Anything;
        /// Who makes candidate tasks.
        generator: Generator = Generator::default(), Anything;
        /// How candidates become tasks.
        curriculum: Curriculum = Curriculum::default(), Anything;
        /// How training trajectories are sampled.
        rollout: Rollout = Rollout::default(), Anything;
        /// What an episode is worth.
        reward: Reward = Reward::default(), Anything;
        /// How the policy learns.
        update: Update = Update::default(), Anything;
        /// How policies are measured.
        evaluation: Evaluation = Evaluation::default(), Anything;
        /// What a run keeps.
        log: Log = Log::default(), Anything;
        /// How fast it goes.
        exec: Exec = Exec::default(), Anything;
    }
}

impl Scenario {
    /// Reads and checks a scenario; `name` is the file's name, for messages.
    pub fn parse(text: &str, name: &str) -> Result<Self, ScenarioError> {
        Self::parse_with(text, name, &[])
    }

    /// Reads and checks a scenario with `overrides` laid over the file.
    pub fn parse_with(text: &str, name: &str, overrides: &[Override]) -> Result<Self, ScenarioError> {
        load::load(text, name, overrides, consistency::check, "tadpole run --print-defaults")
    }

    /// The scenario as resolved: every key, always in the same order.
    pub fn to_toml(&self) -> String {
        load::resolved(self)
    }

    /// What the run's identity covers: the resolved scenario without its name and without `[exec]`, whatever keys that has.
    pub fn semantic_bytes(&self) -> Vec<u8> {
        load::resolved_without(self, &["name", "exec"]).into_bytes()
    }

    /// Every key with its meaning, default and range, as a scenario that can be parsed.
    pub fn print_defaults() -> String {
        load::documented::<Self>()
    }
}
