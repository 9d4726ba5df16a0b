//! Components: all of a run's state. Each lives on an entity that carries a `StableId`; only `apply` writes them.
//!
//! Fields are plain and public for reading: deciders are read-only systems, so bevy hands them shared references only,
//! and the bevy world itself never leaves the kernel.
//!
//! Every component derives `Serialize` and `Deserialize`: its canonical bytes (world digest, keyframes), its JSON (dumps,
//! diffs) and nothing else. A new field is therefore part of digest and keyframe without a further line.

use std::collections::BTreeMap;
use std::sync::Arc;

use bevy_ecs::prelude::Component;
use serde::{Deserialize, Serialize};

use crate::event::{Direction, Exit, Facts, Purpose, Refinement, Rejection, TaskContent};
use crate::id::{Digest, Iteration, Member, StableId, Version, Visit};

/// Where the run stands. On `StableId(0)` alone.
#[derive(Component, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The run's id.
    pub run: Digest,
    /// The run seed.
    pub seed: u64,
    /// Training iterations the run will have.
    pub iterations: u32,
    /// The iteration under way; 0 until the base was measured.
    pub iteration: Iteration,
    /// Whether `IterationFinished` was committed for it.
    pub iteration_finished: bool,
    /// What happens next within it.
    pub phase: Phase,
    /// The policy published last; version 0 of the iteration under way.
    pub policy: Option<StableId>,
    /// Policies of the iteration under way by version; `versions[0]` is the published one.
    pub versions: Vec<StableId>,
    /// Raw draws made in this iteration.
    pub draws: u32,
    /// Candidates of this iteration not yet admitted or rejected, ascending. One that was refined stays, with its
    /// successor named in `Candidate::succeeded_by`, until it is rejected.
    pub open: Vec<StableId>,
    /// Tasks admitted in this iteration, in order of admission; after `BatchClosed` in the order of visits.
    pub batch: Vec<StableId>,
    /// Updates applied in this iteration.
    pub updates: u32,
    /// Evaluations finished of the policy published last, as (set, temperature bits).
    pub evaluated: Vec<(String, u32)>,
    /// The next id to give.
    pub next_id: StableId,
}

/// What happens next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// The base policy and the held-out sets are not there yet.
    #[default]
    Opening,
    /// The policy published last is being measured.
    Evaluating,
    /// Candidates are generated, validated, calibrated, refined and admitted.
    Curriculum,
    /// Rollouts and updates.
    Training,
    /// Nothing: an update was refused.
    Refused,
    /// Nothing: the run is complete.
    Finished,
}

/// A set of weights.
#[derive(Component, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Iteration that made it.
    pub iteration: Iteration,
    /// Its version within the iteration that uses or made it.
    pub version: Version,
    /// Digest of its canonical tensors.
    pub weights: Digest,
    /// Digest of optimiser moments and averaging accumulators, where an update made it.
    pub state: Option<Digest>,
    /// Whether it was published.
    pub published: bool,
}

/// A candidate task.
#[derive(Component, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Iteration it was made for.
    pub iteration: Iteration,
    /// Index of its raw draw.
    pub draw: u32,
    /// What it was refined from.
    pub refined: Option<Refinement>,
    /// Where it stands in the funnel.
    pub status: Status,
    /// Every look at it: (passed, sampled).
    pub looks: Vec<(u32, u32)>,
    /// Whether a refined successor exists.
    pub succeeded_by: Option<StableId>,
}

/// Where a candidate stands in the funnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Not validated yet.
    Generated,
    /// Validated; looked at zero or more times.
    Validated,
    /// Became this task.
    Admitted(StableId),
    /// Left.
    Rejected(Rejection),
}

/// What a task or candidate consists of. Leaves the world when its iteration ends; stays for held-out tasks.
#[derive(Component, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// The content.
    pub content: Arc<TaskContent>,
    /// F2P; empty before validation.
    pub fail_to_pass: Vec<String>,
    /// P2P.
    pub pass_to_pass: Vec<String>,
}

/// A task: admitted, or held out.
#[derive(Component, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Content digest: its name in random streams.
    pub digest: Digest,
    /// Where it came from.
    pub source: TaskSource,
}

/// Where a task came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskSource {
    /// Admitted in an iteration.
    Admitted {
        /// The iteration.
        iteration: Iteration,
        /// The candidate it was.
        candidate: StableId,
        /// Calibration passes over all looks.
        passed: u32,
        /// Calibration trajectories over all looks.
        sampled: u32,
        /// Whether the admission rule held.
        in_band: bool,
    },
    /// Held out.
    HeldOut {
        /// Name of the set.
        set: String,
    },
}

/// What is known of a trajectory.
#[derive(Component, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// Candidate or task it was played on.
    pub subject: StableId,
    /// What for.
    pub purpose: Purpose,
    /// In which iteration.
    pub iteration: Iteration,
    /// By which policy version.
    pub version: Version,
    /// Which look or update.
    pub visit: Visit,
    /// Its place in the group.
    pub member: Member,
    /// How it ended.
    pub exit: Exit,
    /// What grading found.
    pub facts: Facts,
    /// Before the length term.
    pub raw_reward: f32,
    /// After it.
    pub reward: f32,
    /// Mean entropy, nats a sampled token.
    pub entropy: f32,
    /// Sampled tokens.
    pub sampled: u32,
    /// Tool calls.
    pub tool_calls: u32,
    /// Digest of its token histories and log-probabilities.
    pub history: Digest,
}

/// What was learnt about a policy on the held-out sets. On the policy that was measured.
#[derive(Component, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The events, as they were, in order.
    pub results: Vec<crate::event::EvaluationFinishedV1>,
}

/// One optimiser step, as it was.
#[derive(Component, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// The event.
    pub result: crate::event::UpdateAppliedV1,
}

/// How the candidates of an iteration fared. On the run's entity, one entry an iteration, updated by `apply`.
#[derive(Component, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Funnel {
    /// By iteration.
    pub iterations: BTreeMap<u32, IterationFunnel>,
}

/// Counts of one iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationFunnel {
    /// Candidates generated, refined ones included.
    pub candidates: u32,
    /// Of them, refined from another, by direction.
    pub refined: BTreeMap<Direction, u32>,
    /// Rejections by reason.
    pub rejected: BTreeMap<Rejection, u32>,
    /// Admitted in band.
    pub admitted: u32,
    /// Admitted as nearest mixed group.
    pub filled: u32,
    /// Calibration looks.
    pub looks: u32,
}
