//! What the commands need of the systems, and nothing more.

#[cfg(test)]
pub(crate) mod samples;
mod unwired;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tadpole_scenarios::schema::{HeldOutSet, PretrainScenario, Scenario};

use crate::failure::Failure;
use crate::progress::Observer;

pub(crate) use unwired::Unwired;

/// Does what the commands ask for.
pub(crate) trait Engine {
    /// Starts a run and stays with it to its end.
    fn run(&self, request: &RunRequest, observer: &dyn Observer) -> Result<RunSummary, Failure>;
    /// Goes on with an interrupted run. `threads` replaces the scenario's number.
    fn resume(
        &self,
        run: &Path,
        threads: Option<u32>,
        observer: &dyn Observer,
    ) -> Result<RunSummary, Failure>;
    /// Folds the log up to step `to`, or to its end.
    fn replay(&self, run: &Path, to: Option<u64>, observer: &dyn Observer) -> Result<ReplayReport, Failure>;
    /// Decides everything again and compares.
    fn verify(&self, request: &VerifyRequest, observer: &dyn Observer) -> Result<VerifyReport, Failure>;
    /// What is known of a run, finished or not.
    fn summary(&self, run: &Path) -> Result<RunSummary, Failure>;
    /// One thing in a run.
    fn show(&self, run: &Path, subject: &Subject) -> Result<Shown, Failure>;
    /// Measures a policy.
    fn eval(&self, request: &EvalRequest, observer: &dyn Observer)
    -> Result<Vec<EvaluationSummary>, Failure>;
    /// Makes a base policy.
    fn pretrain(&self, request: &PretrainRequest, observer: &dyn Observer)
    -> Result<PretrainReport, Failure>;
    /// What `doctor` cannot see for itself: the sandbox worker, the shipped policy, devices.
    fn doctor(&self) -> Vec<Finding>;
    /// Serves sandbox requests on standard input and output until they end.
    fn worker(&self) -> Result<(), Failure>;
}

/// A run to start.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunRequest {
    /// The scenario, checked.
    pub(crate) scenario: Scenario,
    /// The directory that paths in the scenario are relative to; none for shipped ones.
    pub(crate) base: Option<PathBuf>,
    /// The run's directory, which does not exist.
    pub(crate) directory: PathBuf,
}

/// What to verify.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VerifyRequest {
    /// The run's directory.
    pub(crate) run: PathBuf,
    /// Share of decisions to re-execute.
    pub(crate) sample: f64,
    /// Whether recorded weights are trusted.
    pub(crate) skip_updates: bool,
    /// Threads, where they are not to be the scenario's.
    pub(crate) threads: Option<u32>,
}

/// What to measure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EvalRequest {
    /// The run's directory.
    pub(crate) run: PathBuf,
    /// The iteration whose published policy is measured; none for the last.
    pub(crate) iteration: Option<u32>,
    /// On what.
    pub(crate) set: HeldOutSet,
    /// Threads, where they are not to be the scenario's.
    pub(crate) threads: Option<u32>,
}

/// What to pre-train.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PretrainRequest {
    /// The scenario, checked.
    pub(crate) scenario: PretrainScenario,
    /// Where the policy, its tokenizer and the recorded digests go.
    pub(crate) directory: PathBuf,
    /// Optimiser steps to stop after; none for all.
    pub(crate) steps: Option<u64>,
}

/// A thing in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The event with this sequence number.
    Event(u64),
    /// A task or candidate by its id.
    Task(u64),
    /// A trajectory by its id, turn by turn and token by token.
    Trajectory(u64),
    /// An update, down to each token's probabilities, advantage and mask.
    Update {
        /// The iteration, from 1.
        iteration: u32,
        /// The update, from 0.
        update: u32,
    },
    /// How the curriculum evolved.
    Curriculum,
}

/// A thing in a run, for people and for programs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown {
    /// For people.
    pub(crate) text: String,
    /// For programs.
    pub(crate) json: serde_json::Value,
}

/// A run in figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RunSummary {
    /// The run's id.
    pub(crate) run_id: String,
    /// Chain digest of the last commit.
    pub(crate) chain: String,
    /// World digest of the last commit.
    pub(crate) world: String,
    /// Committed steps.
    pub(crate) steps: u64,
    /// Committed events.
    pub(crate) events: u64,
    /// Processor time spent on it, in seconds, resumptions included.
    pub(crate) cpu_s: f64,
    /// By iteration; 0 is the base.
    pub(crate) iterations: Vec<IterationSummary>,
    /// Every measurement.
    #[serde(skip)]
    pub(crate) evaluations: Vec<EvaluationSummary>,
    /// Times the wall-clock watchdog fired.
    #[serde(skip)]
    pub(crate) watchdogs: u64,
    /// Why it ended early, where it did.
    #[serde(skip)]
    pub(crate) refused: Option<String>,
    /// Whether it is complete.
    #[serde(skip)]
    pub(crate) finished: bool,
}

/// An iteration in figures. What is not known yet, or does not exist for the base, is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct IterationSummary {
    /// Which one; 0 is the base.
    pub(crate) iteration: u32,
    /// Candidates generated, refined ones included.
    pub(crate) candidates: u32,
    /// Tasks admitted, out-of-band ones included.
    pub(crate) admitted: u32,
    /// Of the candidates, refined from another.
    pub(crate) refined: u32,
    /// Rejections by reason.
    pub(crate) rejected: BTreeMap<String, u32>,
    /// Mean p-hat of the admitted tasks.
    pub(crate) p_hat_mean: Option<f64>,
    /// Solve rate on the first held-out set.
    pub(crate) solve_rate: Option<f64>,
    /// Lower end of its 95% interval.
    pub(crate) solve_low: Option<f64>,
    /// Upper end.
    pub(crate) solve_high: Option<f64>,
    /// Mean entropy on the held-out set, nats a token.
    pub(crate) entropy: Option<f64>,
    /// Mean sampled tokens a trajectory on the held-out set.
    pub(crate) tokens_mean: Option<f64>,
    /// Share of trainable tokens that the mask kept.
    pub(crate) kept_share: Option<f64>,
}

/// A policy on a held-out set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct EvaluationSummary {
    /// The iteration that published the policy; 0 is the base.
    pub(crate) iteration: u32,
    /// The set's name.
    pub(crate) set: String,
    /// Sampling temperature; 0 is greedy.
    pub(crate) temperature: f32,
    /// Tasks.
    pub(crate) tasks: u32,
    /// Trajectories a task.
    pub(crate) samples: u32,
    /// Solve rate.
    pub(crate) solve_rate: f64,
    /// Lower end of its 95% interval.
    pub(crate) solve_low: f64,
    /// Upper end.
    pub(crate) solve_high: f64,
    /// Unbiased pass@k by k.
    pub(crate) pass_at: BTreeMap<u32, f64>,
    /// Mean entropy, nats a token.
    pub(crate) entropy: f64,
    /// Mean sampled tokens a trajectory.
    pub(crate) tokens_mean: f64,
}

/// The world as the log makes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ReplayReport {
    /// The run's id.
    pub(crate) run_id: String,
    /// The step that was replayed to.
    pub(crate) step: u64,
    /// The last step of the log.
    pub(crate) last_step: u64,
    /// Events up to that step.
    pub(crate) events: u64,
    /// Chain digest at that step.
    pub(crate) chain: String,
    /// World digest at that step, recomputed and equal to the recorded one.
    pub(crate) world: String,
    /// Entities by component type.
    pub(crate) entities: BTreeMap<String, u64>,
}

/// What re-execution found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct VerifyReport {
    /// The run's id.
    pub(crate) run_id: String,
    /// Steps in the log.
    pub(crate) steps: u64,
    /// Of them, decided again.
    pub(crate) executed: u64,
    /// Events compared.
    pub(crate) events: u64,
    /// The differences, the first first.
    pub(crate) differences: Vec<Difference>,
}

/// A fact that re-execution does not confirm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Difference {
    /// The step.
    pub(crate) step: u64,
    /// The event's index within the step.
    pub(crate) index: u64,
    /// The event's name.
    pub(crate) event: String,
    /// Path of the field.
    pub(crate) field: String,
    /// What the log says.
    pub(crate) recorded: String,
    /// What re-execution says.
    pub(crate) recomputed: String,
}

/// What pre-training made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PretrainReport {
    /// Optimiser steps done.
    pub(crate) steps: u64,
    /// Tokens trained on.
    pub(crate) tokens: u64,
    /// Mean loss over the last steps, nats a token.
    pub(crate) loss: f64,
    /// Digest of the canonical tensors.
    pub(crate) weights: String,
    /// Digest of the tokenizer.
    pub(crate) tokenizer: String,
    /// Files written.
    pub(crate) files: Vec<String>,
}

/// One line of `doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What was looked at.
    pub(crate) subject: String,
    /// How it is.
    pub(crate) state: State,
    /// In words.
    pub(crate) detail: String,
    /// What to do about it; may be empty.
    pub(crate) help: String,
}

/// How a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// As it should be.
    Good,
    /// It works, but slower or with less than there could be.
    Note,
    /// Runs will fail.
    Bad,
}
