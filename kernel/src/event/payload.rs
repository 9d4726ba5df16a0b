//! The facts themselves. A payload type is frozen once released: a change is a new `V2` beside it and an upcaster.

use rkyv::{Archive, Deserialize, Serialize};

use crate::id::{Digest, Iteration, Member, StableId, Step, Version, Visit};

macro_rules! data {
    ($($(#[$meta:meta])* pub $kind:ident $name:ident $body:tt)*) => {$(
        $(#[$meta])*
        #[derive(Archive, Serialize, Deserialize, serde::Serialize, serde::Deserialize, Clone, Debug, PartialEq)]
        pub $kind $name $body
    )*};
}

/// Bytes that stay in their event below 64 KiB and go to the blob store from there on.
#[derive(
    Archive, Serialize, Deserialize, serde::Serialize, serde::Deserialize, Clone, Debug, PartialEq, Eq,
)]
pub enum Bulk {
    /// Held in the event.
    Inline(#[serde(serialize_with = "summarise_bytes", deserialize_with = "whole_bytes")] Vec<u8>),
    /// Held in the blob store.
    Blob(Digest),
}

impl Bulk {
    /// Digest of the content, wherever it is held.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match self {
            Self::Inline(bytes) => Digest::of(bytes),
            Self::Blob(digest) => *digest,
        }
    }
}

fn summarise_bytes<S: serde::Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        serializer.serialize_str(&format!("{} bytes, blake3 {}", bytes.len(), Digest::of(bytes)))
    } else {
        serializer.serialize_bytes(bytes)
    }
}

/// The bytes themselves; the summary that people see cannot be read back.
fn whole_bytes<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    struct Bytes;

    impl serde::de::Visitor<'_> for Bytes {
        type Value = Vec<u8>;

        fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            out.write_str("bytes")
        }

        fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }
    }

    deserializer.deserialize_bytes(Bytes)
}

data! {
    /// The run begins: what it is, as data.
    pub struct RunStartedV1 {
        /// Digest of the semantic scenario, the log format and the arithmetic version.
        pub run: Digest,
        /// Digest of the canonical semantic scenario (without `[exec]`).
        pub scenario: Digest,
        /// Version of the exact arithmetic.
        pub arithmetic: u32,
        /// The run seed.
        pub seed: u64,
        /// Number of training iterations.
        pub iterations: u32,
    }

    /// The run goes on from a step of another, under a scenario of its own. What was committed before is the parent's.
    pub struct RunForkedV1 {
        /// The id of the run that begins here.
        pub run: Digest,
        /// Digest of its canonical semantic scenario.
        pub scenario: Digest,
        /// Version of the exact arithmetic.
        pub arithmetic: u32,
        /// Number of training iterations, those of the parent included.
        pub iterations: u32,
        /// The id of the run that it was forked from.
        pub parent: Digest,
        /// The last step that they share.
        pub step: Step,
        /// The chain hash of that step.
        pub chain: Digest,
    }

    /// A policy becomes version 0 of the iteration that follows.
    pub struct PolicyPublishedV1 {
        /// Its id.
        pub policy: StableId,
        /// The iteration that made it; 0 for the base.
        pub iteration: Iteration,
        /// Digest of its canonical tensors (a blob).
        pub weights: Digest,
        /// How many update versions were averaged into it; 1 where the last was taken as it was.
        pub averaged: u32,
    }

    /// A task of a held-out set: evaluated, never trained on.
    pub struct TaskHeldOutV1 {
        /// Its id.
        pub task: StableId,
        /// Name of the set.
        pub set: String,
        /// The task.
        pub content: TaskContent,
        /// Tests that the gold patch turns from failing to passing.
        pub fail_to_pass: Vec<String>,
        /// Tests that pass before and after.
        pub pass_to_pass: Vec<String>,
    }

    /// Repository snapshot, statement, gold patch and hidden tests.
    pub struct TaskContent {
        /// Digest over all below: the task's name in every random stream.
        pub digest: Digest,
        /// Where it lies in the generator's space.
        pub origin: Origin,
        /// The problem statement, as the policy reads it.
        pub statement: String,
        /// Canonical tree of the repository with the fault in it.
        pub snapshot: Bulk,
        /// Canonical tree of the files that the gold patch rewrites, as they are after it.
        pub gold: Bulk,
        /// Canonical tree of the hidden tests, laid over the repository at grading.
        pub tests: Bulk,
    }

    /// What the generator drew.
    pub struct Origin {
        /// The generator that made it, e.g. `mutation`.
        pub generator: String,
        /// Seed of the draw: the same seed gives the same repository and fault at any statement level.
        pub seed: u64,
        /// Difficulty stratum of the raw draw, e.g. `s3`; a refinement keeps it, whatever it moves.
        pub stratum: String,
        /// How little the statement tells, by the generator's measure; 0 tells most.
        pub level: u8,
        /// Mutation operators applied, one a bug.
        pub operators: Vec<String>,
        /// Templates of the functions that carry a bug.
        pub templates: Vec<String>,
        /// The index of each bug among the faults that its function can have, best first: a refinement keeps them.
        pub faults: Vec<u32>,
        /// Functions in the repository.
        pub functions: u32,
        /// Modules in the repository.
        pub modules: u32,
    }

    /// An iteration of generator and solver begins.
    pub struct IterationStartedV1 {
        /// Which one, from 1.
        pub iteration: Iteration,
        /// The policy that every version of this iteration descends from.
        pub policy: StableId,
    }

    /// A candidate task was synthesised, afresh or by refining another.
    pub struct CandidateGeneratedV1 {
        /// Its id.
        pub candidate: StableId,
        /// The iteration it was made for.
        pub iteration: Iteration,
        /// Index of the raw draw within the iteration; a refined candidate keeps its ancestor's.
        pub draw: u32,
        /// Which attempt of the draw this was (a draw whose mutants all were invalid is drawn again).
        pub attempt: u32,
        /// What it was refined from, and to what end.
        pub refined: Option<Refinement>,
        /// The task.
        pub content: TaskContent,
    }

    /// A refinement: the same fault, made easier or harder to find.
    pub struct Refinement {
        /// The candidate that was refined.
        pub parent: StableId,
        /// Which way the pass rate was meant to move.
        pub direction: Direction,
        /// How many refinements lie between the raw draw and this candidate, this one included.
        pub depth: u32,
    }

    /// Which way a refinement means to move the pass rate.
    #[derive(Copy, Eq, PartialOrd, Ord)]
    pub enum Direction {
        /// More localising information, or less around the fault.
        Easier,
        /// Less localising information, or more around the fault.
        Harder,
    }

    /// The hidden tests failed on the snapshot, passed with gold, and did so again.
    pub struct CandidateValidatedV1 {
        /// Which candidate.
        pub candidate: StableId,
        /// Tests that fail before the gold patch and pass after it; never empty.
        pub fail_to_pass: Vec<String>,
        /// Tests that pass before and after.
        pub pass_to_pass: Vec<String>,
    }

    /// A candidate leaves the funnel.
    pub struct CandidateRejectedV1 {
        /// Which candidate.
        pub candidate: StableId,
        /// Why.
        pub reason: Rejection,
    }

    /// Why a candidate was rejected.
    #[derive(Copy, Eq, PartialOrd, Ord, Hash)]
    pub enum Rejection {
        /// The interpreter could not load the snapshot or the gold tree.
        DoesNotLoad,
        /// No hidden test fails on the snapshot.
        NothingFails,
        /// Some hidden test fails with the gold patch.
        GoldFails,
        /// Two runs of the hidden tests differed.
        Unstable,
        /// Nothing visible to the agent fails.
        NotVisible,
        /// A test ran out of fuel, memory or time.
        Exhausted,
        /// The same task is a candidate, a task or a held-out task already.
        Duplicate,
        /// Too many trajectories solved it, and it was not to be refined (again).
        TooEasy,
        /// Too few trajectories solved it, and it was not to be refined (again).
        TooHard,
        /// The batch was full, or the budget spent, before it was needed.
        NotNeeded,
    }

    /// One look at a candidate: its pass rate was estimated (again).
    pub struct CandidateCalibratedV1 {
        /// Which candidate.
        pub candidate: StableId,
        /// Which look at it, from 0.
        pub look: Visit,
        /// Trajectories of this look that passed all grading tests.
        pub passed: u32,
        /// Trajectories of this look.
        pub sampled: u32,
    }

    /// A candidate became a task of the batch.
    pub struct TaskAdmittedV1 {
        /// The id of the task.
        pub task: StableId,
        /// What it was as a candidate.
        pub candidate: StableId,
        /// Trajectories over all looks that passed.
        pub passed: u32,
        /// Trajectories over all looks.
        pub sampled: u32,
        /// Whether the admission rule held. `false`: taken as the nearest mixed group after the budget was spent.
        pub in_band: bool,
    }

    /// The batch of an iteration is complete.
    pub struct BatchClosedV1 {
        /// Which iteration.
        pub iteration: Iteration,
        /// Its tasks, in the order in which updates visit them.
        pub tasks: Vec<StableId>,
        /// Whether the candidate budget was spent before the batch was full.
        pub budget_spent: bool,
    }

    /// One episode of a policy on a task.
    pub struct TrajectoryFinishedV1 {
        /// Its id.
        pub trajectory: StableId,
        /// The candidate or task it was played on.
        pub subject: StableId,
        /// What it was played for.
        pub purpose: Purpose,
        /// The iteration it was played in.
        pub iteration: Iteration,
        /// The policy version that produced every token of it.
        pub version: Version,
        /// Which look or update sampled it.
        pub visit: Visit,
        /// Its place in the group.
        pub member: Member,
        /// Token histories. One, unless a history was rewritten on the way (compaction).
        pub segments: Vec<Segment>,
        /// How it ended.
        pub exit: Exit,
        /// What grading found.
        pub facts: Facts,
        /// 1, 0.5 (truncated but correct) or 0, before any length term.
        pub raw_reward: f32,
        /// Raw reward less the length penalty.
        pub reward: f32,
        /// Mean entropy of the distributions sampled from, in nats a token.
        pub entropy: f32,
        /// Tool calls made.
        pub tool_calls: u32,
        /// Canonical tree of the files it changed against the recorded base.
        pub patch: Bulk,
    }

    /// A token history and which of its tokens were sampled.
    pub struct Segment {
        /// Every token, prompt and observations included, exactly as the policy saw them.
        pub tokens: Tokens,
        /// Sampled spans, ascending and disjoint. Every other token is context.
        pub sampled: Vec<Span>,
        /// Log-probability of each sampled token, in order, under the distribution it was drawn from.
        pub log_probs: Vec<f32>,
    }

    /// Half-open range of token positions.
    #[derive(Copy, Eq)]
    pub struct Span {
        /// First position.
        pub start: u32,
        /// One past the last.
        pub end: u32,
    }

    /// Token ids, in the narrowest width that holds the vocabulary.
    #[derive(Eq)]
    pub enum Tokens {
        /// Vocabularies up to 65,536.
        Narrow(Vec<u16>),
        /// Any other.
        Wide(Vec<u32>),
    }

    /// What a trajectory was played for.
    #[derive(Copy, Eq, PartialOrd, Ord, Hash)]
    pub enum Purpose {
        /// Estimating a candidate's pass rate. Does not train unless the scenario says so.
        Calibration,
        /// Training.
        Rollout,
        /// Measuring a policy.
        Evaluation,
    }

    /// How an episode ended.
    #[derive(Copy, Eq, PartialOrd, Ord, Hash)]
    pub enum Exit {
        /// A turn without a tool call: the final answer.
        Final,
        /// The limit on turns was reached.
        MaxTurns,
        /// The limit on the whole history was reached.
        MaxContext,
        /// A turn was cut by its token limit; none of its calls ran.
        MaxTurnTokens,
        /// Something outside the policy failed. Not a reward of 0.
        Infra,
    }

    /// Four independent facts about a trajectory.
    #[derive(Copy, Eq)]
    pub struct Facts {
        /// What the hidden tests say.
        pub grade: Grade,
        /// Whether the agent really ran tests.
        pub ran_tests: bool,
        /// Whether it changed a file that grading restores.
        pub tampered: bool,
        /// Whether it saw what it must not see (hidden tests, gold).
        pub leaked: bool,
    }

    /// What the hidden tests say.
    #[derive(Copy, Eq, PartialOrd, Ord, Hash)]
    pub enum Grade {
        /// All F2P passed explicitly and no P2P regressed.
        Resolved,
        /// Tests ran, and some did not pass.
        Unresolved,
        /// Tests could not run for a reason outside the policy.
        Infra,
        /// A test ran out of fuel, memory or counted steps.
        Exhausted,
        /// The wall-clock watchdog ended a test; recorded as an effect.
        Watchdog,
        /// The worker process died in a test.
        Aborted,
    }

    /// One optimiser step.
    pub struct UpdateAppliedV1 {
        /// Id of the policy it made.
        pub policy: StableId,
        /// Iteration.
        pub iteration: Iteration,
        /// Which update of the iteration, from 0; it makes version `update + 1`.
        pub update: u32,
        /// The version whose trajectories it trained on.
        pub trained_on: Version,
        /// Digest of the canonical tensors after it (a blob).
        pub weights: Digest,
        /// Digest of optimiser moments and averaging accumulators after it (a blob).
        pub state: Digest,
        /// The groups, in order of their task's id.
        pub groups: Vec<Group>,
        /// |T|: trainable tokens after group discard, before token drop.
        pub tokens: u64,
        /// Tokens kept by the mask.
        pub kept: u64,
        /// Value of the surrogate loss.
        pub loss: f64,
        /// Gradient norm before clipping.
        pub gradient_norm: f32,
        /// Learning rate.
        pub learning_rate: f32,
        /// Largest importance ratio of a trainable token.
        pub ratio_max: f32,
        /// Mean of `(rho - 1) - ln rho` over trainable tokens: the estimated KL of rollout to current policy, in nats.
        pub kl: f64,
        /// Mean entropy of the current policy over trainable tokens, in nats.
        pub entropy: f64,
    }

    /// The trajectories of one task in one update.
    pub struct Group {
        /// The task.
        pub task: StableId,
        /// Its trajectories, by member.
        pub trajectories: Vec<StableId>,
        /// Whether all raw rewards were equal, so that it taught nothing and was left out.
        pub discarded: bool,
    }

    /// An update could not be computed honestly; the run ends.
    pub struct UpdateRefusedV1 {
        /// Iteration.
        pub iteration: Iteration,
        /// Which update.
        pub update: u32,
        /// What was wrong, with tensor or trajectory and position.
        pub reason: String,
    }

    /// A policy was measured on a held-out set.
    pub struct EvaluationFinishedV1 {
        /// The iteration whose published policy was measured; 0 for the base.
        pub iteration: Iteration,
        /// Name of the set.
        pub set: String,
        /// Sampling temperature; 0 is greedy.
        pub temperature: f32,
        /// Tasks.
        pub tasks: u32,
        /// Trajectories a task.
        pub samples: u32,
        /// Trajectories solved.
        pub solved: u32,
        /// Solve rate, unbiased pass@k for each k asked for.
        pub pass_at: Vec<PassAt>,
        /// Lower end of the 95% Wilson interval of the solve rate.
        pub low: f64,
        /// Upper end.
        pub high: f64,
        /// Mean entropy, nats a token.
        pub entropy: f64,
        /// Mean sampled tokens a trajectory.
        pub tokens_mean: f64,
    }

    /// An unbiased estimate of pass@k.
    #[derive(Copy)]
    pub struct PassAt {
        /// k.
        pub k: u32,
        /// Estimate.
        pub value: f64,
    }

    /// An answer from outside was used; it is served from the effects store ever after.
    pub struct EffectRecordedV1 {
        /// What kind of outside, e.g. `generator` or `watchdog`.
        pub kind: String,
        /// Digest of the request.
        pub request: Digest,
        /// Digest of the answer.
        pub answer: Digest,
    }

    /// An iteration is over: its candidates' and trajectories' bulk leaves the world (not the log).
    pub struct IterationFinishedV1 {
        /// Which one.
        pub iteration: Iteration,
    }

    /// The run is complete.
    pub struct RunFinishedV1 {
        /// The last published policy.
        pub policy: StableId,
    }
}

impl TaskContent {
    /// Its bulk data, in field order.
    #[must_use]
    pub fn bulks(&self) -> [&Bulk; 3] {
        [&self.snapshot, &self.gold, &self.tests]
    }
}

/// Payloads of at least this many bytes go to the blob store.
pub const INLINE_LIMIT: usize = 64 * 1024;

impl Tokens {
    /// Packs ids in the narrowest width that holds `vocabulary`.
    #[must_use]
    pub fn pack(ids: &[u32], vocabulary: u32) -> Self {
        if vocabulary <= 1 << 16 {
            Self::Narrow(ids.iter().map(|&id| id as u16).collect())
        } else {
            Self::Wide(ids.to_vec())
        }
    }

    /// The ids.
    #[must_use]
    pub fn unpack(&self) -> Vec<u32> {
        match self {
            Self::Narrow(ids) => ids.iter().map(|&id| u32::from(id)).collect(),
            Self::Wide(ids) => ids.clone(),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(ids) => ids.len(),
            Self::Wide(ids) => ids.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
