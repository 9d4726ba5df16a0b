//! Pre-training scenarios: how the embedded base policy and its tokenizer are made.

use super::check::{Above, Anything, Below, Length, Name};
use super::document::{Node, Override};
use super::error::{Fault, ScenarioError};
use super::table::keys;
use super::{Exec, Harness, Shape, consistency, load};
use crate::world::WorldSpec;

keys! {
    /// The making of a base policy, completely stated.
    pub struct PretrainScenario {
        /// Name of the scenario, for people and directories.
        name: String = String::from("pretrain"), Name;
        /// Seed of initial weights, projects, demonstrations and their order.
        seed: u64 = 1, 0..=9_223_372_036_854_775_807;
        /// Tokens of one optimiser step.
        batch_tokens: u32 = 8_192, 64..=16_777_216;
        /// Steps between recorded digests of weights and optimiser state: by them a re-run shows early that it agrees.
        digest_every: u32 = 100, 1..=1_000_000;
        /// The text that the tokenizer learns from.
        tokenizer: TokenizerText = TokenizerText::default(), Anything;
        /// Shape of the policy.
        shape: Shape = Shape::default(), Anything;
        /// The projects that demonstrations are about.
        world: WorldSpec = WorldSpec::default(), Anything;
        /// What the demonstrations are rendered for.
        harness: Harness = Harness::default(), Anything;
        /// The stages, one after the other.
        stages: Vec<Stage> = default_stages(), Length(1..=64);
        /// The optimisers: Muon for matrices, `AdamW` for embeddings and norms.
        optimiser: Optimiser = Optimiser::default(), Anything;
        /// How fast it goes.
        exec: Exec = Exec::default(), Anything;
    }
}

keys! {
    /// The text that the tokenizer learns from: demonstrations without noise.
    pub struct TokenizerText {
        /// Tokens: 256 bytes, the special ones, and merges for the rest.
        vocab: u32 = 640, 272..=65_536;
        /// Projects whose demonstrations are its text.
        projects: u32 = 2_000, 1..=1_000_000;
    }
}

keys! {
    /// A part of pre-training with one mix of text.
    pub struct Stage {
        /// Its name, unique in the scenario.
        name: String = String::new(), Name;
        /// Tokens it trains on.
        tokens: u64 = 1_000_000, 1_000..=10_000_000_000;
        /// Share of drills: every function of a module is faulty and mended in turn, so that supervision of edits is dense. The
        /// rest are demonstrations of whole episodes.
        drills: f64 = 0.0, 0.0..=1.0;
        /// The demonstrations.
        demonstrations: Demonstrations = Demonstrations::default(), Anything;
    }
}

keys! {
    /// How imperfect demonstrations are. A noisy one makes mistakes and recovers from them; without recovery the policy babbles
    /// after its first tool error.
    pub struct Demonstrations {
        /// Share of noisy ones.
        noisy: f64 = 0.0, 0.0..=1.0;
        /// In a noisy one: chance of a first edit that is wrong, seen to be wrong by its tests, and mended.
        wrong_edit: f64 = 0.35, 0.0..=1.0;
        /// After a wrong first edit: chance of answering at once, without a test, so that the task stays unsolved.
        hasty: f64 = 0.0, 0.0..=1.0;
        /// Chance of a mistyped `old_string`, answered with an error.
        typo: f64 = 0.1, 0.0..=1.0;
        /// Chance of a path that does not exist.
        bad_path: f64 = 0.1, 0.0..=1.0;
        /// Chance of an edit that changes nothing.
        no_change: f64 = 0.05, 0.0..=1.0;
    }
}

keys! {
    /// The optimisers: Muon for matrices, `AdamW` for embeddings and norms.
    pub struct Optimiser {
        /// Learning rate of Muon.
        muon_rate: f32 = 0.02, Above(0.0, 1.0);
        /// Momentum of Muon.
        muon_momentum: f32 = 0.95, Below(0.0, 1.0);
        /// Newton-Schulz steps of Muon.
        newton_steps: u32 = 5, 1..=32;
        /// Learning rate of `AdamW`.
        adamw_rate: f32 = 4e-3, Above(0.0, 1.0);
        /// `AdamW`: decay of the first moment.
        beta1: f32 = 0.9, Below(0.0, 1.0);
        /// `AdamW`: decay of the second moment.
        beta2: f32 = 0.95, Below(0.0, 1.0);
        /// `AdamW`: added to the root of the second moment.
        epsilon: f32 = 1e-8, Above(0.0, 1.0);
        /// Decoupled weight decay.
        weight_decay: f32 = 0.0, 0.0..=1.0;
        /// Largest norm of the whole gradient.
        clip: f32 = 1.0, Above(0.0, 1e6);
        /// Share of all steps over which the learning rates rise linearly to their values.
        warmup: f64 = 0.02, 0.0..=1.0;
        /// Share of all steps, at the end, over which the learning rates fall linearly to `final_rate`.
        decay: f64 = 0.5, 0.0..=1.0;
        /// What the learning rates end at, as a factor.
        final_rate: f32 = 0.05, 0.0..=1.0;
    }
}

fn default_stages() -> Vec<Stage> {
    let stage = |name: &str, tokens, drills, noisy| Stage {
        name: name.into(),
        tokens,
        drills,
        demonstrations: Demonstrations { noisy, ..Demonstrations::default() },
    };
    vec![
        stage("drills", 9_000_000, 0.5, 0.0),
        stage("recovery", 9_000_000, 0.35, 0.5),
        stage("level", 1_000_000, 0.0, 0.85),
    ]
}

impl PretrainScenario {
    /// Reads and checks a scenario; `name` is the file's name, for messages.
    pub fn parse(text: &str, name: &str) -> Result<Self, ScenarioError> {
        Self::parse_with(text, name, &[])
    }

    /// Reads and checks a scenario with `overrides` laid over the file.
    pub fn parse_with(text: &str, name: &str, overrides: &[Override]) -> Result<Self, ScenarioError> {
        load::load(text, name, overrides, check, "tadpole pretrain --print-defaults")
    }

    /// The scenario as resolved: every key, always in the same order.
    pub fn to_toml(&self) -> String {
        load::resolved(self)
    }

    /// Every key with its meaning, default and range, as a scenario that can be parsed.
    pub fn print_defaults() -> String {
        load::documented::<Self>()
    }
}

fn check(scenario: &PretrainScenario, document: &Node, faults: &mut Vec<Fault>) {
    let mut report = consistency::Report { document, faults };
    consistency::shape(&scenario.shape, "shape", &mut report);
    consistency::world(&scenario.world, &mut report);
    report.require(
        scenario.tokenizer.vocab == scenario.shape.vocab,
        &["shape.vocab", "tokenizer.vocab"],
        || {
            format!(
                "the policy knows {} tokens, the tokenizer {}",
                scenario.shape.vocab, scenario.tokenizer.vocab
            )
        },
        "make shape.vocab and tokenizer.vocab equal",
    );
    report.require(
        scenario.harness.context <= scenario.shape.context,
        &["harness.context", "shape.context"],
        || {
            format!(
                "{} tokens do not fit the policy's context of {}",
                scenario.harness.context, scenario.shape.context
            )
        },
        "lower harness.context or raise shape.context",
    );
    report.require(
        scenario.optimiser.warmup + scenario.optimiser.decay <= 1.0,
        &["optimiser.warmup", "optimiser.decay"],
        || "warm-up and decay overlap".into(),
        "together they are at most 1",
    );
    let stages = &scenario.stages;
    for (index, stage) in stages.iter().enumerate() {
        report.require(
            stages[..index].iter().all(|earlier| earlier.name != stage.name),
            &[&format!("stages.{index}.name")],
            || format!("`{}` is the name of an earlier stage", stage.name),
            "names are unique",
        );
    }
}
