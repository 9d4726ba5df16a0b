//! What the commands need of the systems, and nothing more.

mod local;
mod recording;
#[cfg(test)]
pub(crate) mod samples;
mod upkeep;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use tadpole_kernel::diff::Comparison;
use tadpole_kernel::upkeep::Collection;
use tadpole_kernel::verify::FieldDifference;
use tadpole_scenarios::schema::{Admission, HeldOutSet, Override, PretrainScenario, Scenario};
use tadpole_systems::analysis::shadow::ShadowIteration;
use tadpole_systems::analysis::{EvaluationSummary, Recalibration, RunSummary};

use crate::arguments::Speed;
use crate::failure::Failure;
use crate::progress::Observer;

pub(crate) use local::Local;
pub(crate) use recording::{
    Episode, EventOutline, Kind, Outline, Piece, Recording, Sheet, SheetRow, TokenRow, TokenTable,
};
pub(crate) use upkeep::{CheckReport, Complaint, GcReport, SalvageReport};

/// Does what the commands ask for.
pub(crate) trait Engine {
    /// Starts a run and stays with it to its end.
    fn run(&self, request: &RunRequest, observer: &dyn Observer) -> Result<RunSummary, Failure>;
    /// Goes on with an interrupted run. `speed` replaces what the scenario says about it.
    fn resume(&self, run: &Path, speed: &Speed, observer: &dyn Observer) -> Result<RunSummary, Failure>;
    /// Folds the log up to step `to`, or to its end.
    fn replay(&self, run: &Path, to: Option<u64>, observer: &dyn Observer) -> Result<ReplayReport, Failure>;
    /// Makes the keyframes that a run lacks; says how many it has then.
    fn keyframes(&self, run: &Path, observer: &dyn Observer) -> Result<u64, Failure>;
    /// Makes a run that goes on from a step of another.
    fn fork(&self, request: &ForkRequest) -> Result<ForkReport, Failure>;
    /// Compares two runs.
    fn diff(&self, left: &Path, right: &Path) -> Result<DiffReport, Failure>;
    /// Decides everything again and compares.
    fn verify(&self, request: &VerifyRequest, observer: &dyn Observer) -> Result<VerifyReport, Failure>;
    /// What is known of a run, finished or not.
    fn summary(&self, run: &Path) -> Result<RunSummary, Failure>;
    /// One thing in a run.
    fn show(&self, run: &Path, subject: &Subject) -> Result<Shown, Failure>;
    /// A run to step through.
    fn open(&self, run: &Path) -> Result<Box<dyn Recording>, Failure>;
    /// What other admission rules would have made of a run's calibrations, after what its own made.
    fn shadow(&self, run: &Path, rules: &[Admission]) -> Result<ShadowReport, Failure>;
    /// Measures a policy.
    fn eval(&self, request: &EvalRequest, observer: &dyn Observer)
    -> Result<Vec<EvaluationSummary>, Failure>;
    /// Measures the tasks of an iteration again.
    fn recalibrate(
        &self,
        request: &RecalibrateRequest,
        observer: &dyn Observer,
    ) -> Result<Recalibration, Failure>;
    /// Whether a run is whole.
    fn check(&self, run: &Path) -> CheckReport;
    /// Saves what is sound of a damaged run in `out`, which does not exist.
    fn salvage(&self, run: &Path, out: &Path) -> Result<SalvageReport, Failure>;
    /// Removes what nothing in a run needs, or finds it.
    fn gc(&self, run: &Path, collection: Collection) -> Result<GcReport, Failure>;
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

/// A run to fork.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ForkRequest {
    /// The parent's directory.
    pub(crate) run: PathBuf,
    /// The last step that both share.
    pub(crate) at: u64,
    /// What changes from there on.
    pub(crate) set: Vec<Override>,
    /// The child's directory, which does not exist.
    pub(crate) directory: PathBuf,
}

/// A fork that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ForkReport {
    /// The child's id.
    pub(crate) run_id: String,
    /// The parent's.
    pub(crate) parent: String,
    /// The last step that both share.
    pub(crate) step: u64,
    /// Chain digest at that step.
    pub(crate) chain: String,
    /// The keys of the scenario that change.
    pub(crate) changes: Vec<Changed>,
    /// Files shared with the parent.
    pub(crate) linked: u64,
    /// Files copied from it.
    pub(crate) copied: u64,
}

/// A key of the scenario that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Changed {
    /// The key.
    pub(crate) key: String,
    /// The parent's value; none where it has no such key.
    pub(crate) was: Option<String>,
    /// The child's.
    pub(crate) becomes: Option<String>,
}

/// Two runs, compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DiffReport {
    /// Where they part.
    pub(crate) comparison: Comparison,
    /// The one in figures.
    pub(crate) left: RunSummary,
    /// The other.
    pub(crate) right: RunSummary,
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
    /// What makes it faster, where that is not to be as the scenario has it.
    pub(crate) speed: Speed,
}

/// What to measure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EvalRequest {
    /// The run's directory.
    pub(crate) run: PathBuf,
    /// The iteration whose published policy is measured; none for the last.
    pub(crate) iteration: Option<u32>,
    /// On what.
    pub(crate) set: SetChoice,
    /// What makes it faster, where that is not to be as the scenario has it.
    pub(crate) speed: Speed,
}

/// The tasks that a policy is measured on, and how.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SetChoice {
    /// A held-out set of the run; what is not said is as in its scenario.
    OfRun {
        /// Its name.
        name: String,
        /// Trajectories a task.
        samples: Option<u32>,
        /// Sampling temperature.
        temperature: Option<f32>,
        /// Whether to measure greedily as well.
        greedy: bool,
    },
    /// Tasks drawn afresh, none of which is one of the run's.
    Drawn(HeldOutSet),
}

/// Which tasks to measure again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecalibrateRequest {
    /// The run's directory.
    pub(crate) run: PathBuf,
    /// The iteration that admitted them.
    pub(crate) iteration: u32,
    /// Fresh trajectories of each.
    pub(crate) samples: u32,
    /// Whether both ends of every refinement are measured too.
    pub(crate) refined: bool,
    /// What makes it faster, where that is not to be as the scenario has it.
    pub(crate) speed: Speed,
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
    /// The step of this number: its events, a line each.
    Step(u64),
    /// The event with this sequence number.
    Event(u64),
    /// A task or candidate by its id.
    Task(u64),
    /// What the world holds after this step, or after the last.
    World(Option<u64>),
    /// A policy by its id.
    Policy(u64),
    /// A trajectory by its id, turn by turn and token by token.
    Trajectory {
        /// Its id.
        id: u64,
        /// Whether the text shows every token, not those alone that were dropped.
        tokens: bool,
    },
    /// An update, down to each token's probabilities, advantage and mask.
    Update {
        /// The iteration, from 1.
        iteration: u32,
        /// The update, from 0.
        update: u32,
        /// Whether the text shows every token, not those alone that were dropped.
        tokens: bool,
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
    pub(crate) json: Value,
}

/// What rules make of a run's calibrations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ShadowReport {
    /// The run's id.
    pub(crate) run_id: String,
    /// The recorded rule first, then the others as they were given.
    pub(crate) rules: Vec<ShadowRule>,
}

/// What a rule makes of a run's calibrations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ShadowRule {
    /// The rule, in words.
    pub(crate) rule: String,
    /// Every iteration whose batch was closed.
    pub(crate) iterations: Vec<ShadowIteration>,
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
    /// Events in the log.
    pub(crate) events: u64,
    /// Whether the run is over, rather than interrupted.
    pub(crate) complete: bool,
    /// Steps that need a blob that was dropped and that no re-executed step made again.
    pub(crate) out_of_reach: Vec<u64>,
    /// The differences, the first first.
    pub(crate) differences: Vec<Difference>,
}

/// A fact that re-execution does not confirm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    /// The step.
    pub(crate) step: u64,
    /// The event's index within the step; none where it is not about one event.
    pub(crate) index: Option<u64>,
    /// The event's name.
    pub(crate) event: Option<String>,
    /// Path of the first field that differs; what else differs, where it is not about one event.
    pub(crate) field: String,
    /// What the log says of it.
    pub(crate) recorded: Option<Value>,
    /// What re-execution says of it.
    pub(crate) recomputed: Option<Value>,
    /// The other fields that differ.
    pub(crate) also: Vec<FieldDifference>,
    /// How many more differ than are named.
    pub(crate) more: u64,
    /// The whole of it in words.
    pub(crate) text: String,
}

impl Difference {
    /// What stands in `field` where a blob is missing or damaged.
    pub(crate) const BLOB: &'static str = "blob";

    /// Whether it is a blob that is missing or damaged, and no event.
    pub(crate) fn is_of_a_blob(&self) -> bool {
        self.event.is_none() && self.field == Self::BLOB
    }
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

impl Finding {
    /// What was looked at, how it is, in words, and what to do about it.
    pub(crate) fn new(subject: &str, state: State, detail: impl Into<String>, help: &str) -> Self {
        Self { subject: subject.to_owned(), state, detail: detail.into(), help: help.to_owned() }
    }
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
