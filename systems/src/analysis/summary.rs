//! A run in figures: the table of iterations, one row for the base and one for each iteration that was trained.

use std::collections::BTreeMap;

use serde::Serialize;
use tadpole_kernel::event::{EvaluationFinishedV1, Event, Rejection, UpdateAppliedV1};
use tadpole_kernel::run::{RunError, RunReader};

use crate::sandbox::WATCHDOG_EFFECT;

/// A run in figures. Its JSON has the fields up to `iterations`; the others are for whoever reads it in Rust.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunSummary {
    /// The run's id, hexadecimal.
    pub run_id: String,
    /// Chain hash of the last commit, hexadecimal.
    pub chain: String,
    /// World digest of the last commit, hexadecimal.
    pub world: String,
    /// Commits.
    pub steps: u64,
    /// Events.
    pub events: u64,
    /// CPU seconds of all processes so far, from the wall-clock sidecar; `None` where it holds nothing.
    pub cpu_s: Option<f64>,
    /// Iteration 0 is the base.
    pub iterations: Vec<IterationSummary>,
    /// The most memory that all processes held, in bytes, from the same sidecar.
    #[serde(skip)]
    pub peak_bytes: Option<u64>,
    /// Verdicts that depended on the machine: 0 in every shipped scenario.
    #[serde(skip)]
    pub watchdogs: u64,
    /// Why the run ended early, where an update was refused.
    #[serde(skip)]
    pub refused: Option<String>,
    /// Whether the run is complete.
    #[serde(skip)]
    pub finished: bool,
}

/// One row. What is not known yet, or does not exist for the base, is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IterationSummary {
    /// 0 for the base.
    pub iteration: u32,
    /// Candidates generated, refined ones included.
    pub candidates: u32,
    /// Tasks admitted, filled ones included.
    pub admitted: u32,
    /// Candidates made by refining another.
    pub refined: u32,
    /// Rejections by reason.
    pub rejected: BTreeMap<String, u32>,
    /// Mean p-hat of the admitted tasks, filled ones included.
    pub p_hat_mean: Option<f64>,
    /// Solve rate on the first held-out set.
    pub solve_rate: Option<f64>,
    /// Lower end of its 95% Wilson interval.
    pub solve_low: Option<f64>,
    /// Upper end.
    pub solve_high: Option<f64>,
    /// Mean entropy of the evaluated policy, nats a token.
    pub entropy: Option<f64>,
    /// Mean sampled tokens a trajectory of that evaluation.
    pub tokens_mean: Option<f64>,
    /// Share of trainable tokens that the mask kept.
    pub kept_share: Option<f64>,
    /// Of the admitted tasks, taken as the nearest mixed group after the budget was spent.
    #[serde(skip)]
    pub filled: u32,
    /// Updates applied.
    #[serde(skip)]
    pub updates: u32,
    /// Of them, those in which the mask dropped a token.
    #[serde(skip)]
    pub updates_with_drops: u32,
    /// Every evaluation of the policy that the iteration published.
    #[serde(skip)]
    pub evaluations: Vec<EvaluationSummary>,
}

/// A policy on a held-out set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvaluationSummary {
    /// The iteration that published the policy; 0 is the base.
    pub iteration: u32,
    /// Name of the held-out set.
    pub set: String,
    /// Sampling temperature; 0 is greedy.
    pub temperature: f32,
    /// Tasks.
    pub tasks: u32,
    /// Trajectories a task.
    pub samples: u32,
    /// Share solved.
    pub solve_rate: f64,
    /// Lower end of its 95% Wilson interval.
    pub solve_low: f64,
    /// Upper end.
    pub solve_high: f64,
    /// Unbiased pass@k, by k.
    pub pass_at: BTreeMap<u32, f64>,
    /// Mean entropy, nats a token.
    pub entropy: f64,
    /// Mean sampled tokens a trajectory.
    pub tokens_mean: f64,
}

impl RunSummary {
    /// Reads the log of a run, finished or not.
    pub fn read(run: &RunReader) -> Result<Self, RunError> {
        let mut summary = Summary::default();
        let (mut steps, mut events, mut last) = (0, 0, None);
        for entry in run.events()? {
            let (commit, _, event) = entry?;
            summary.add(&event);
            (steps, events, last) = (commit.step.next().0, events + 1, Some(commit));
        }
        let timings = run.timings()?;
        let cpu_us: u64 = timings.iter().map(|timing| timing.cpu_us).sum();
        Ok(Self {
            run_id: run.run().to_hex(),
            chain: last.map(|commit| commit.chain.to_hex()).unwrap_or_default(),
            world: last.map(|commit| commit.world.to_hex()).unwrap_or_default(),
            steps,
            events,
            cpu_s: (!timings.is_empty()).then_some(cpu_us as f64 / 1e6),
            iterations: summary.iterations(),
            peak_bytes: timings.iter().filter_map(|timing| timing.peak_bytes).max(),
            watchdogs: summary.watchdogs,
            refused: summary.refused,
            finished: summary.finished,
        })
    }

    /// Every evaluation, in the order in which they were made.
    pub fn evaluations(&self) -> impl Iterator<Item = &EvaluationSummary> {
        self.iterations.iter().flat_map(|iteration| &iteration.evaluations)
    }
}

impl From<&EvaluationFinishedV1> for EvaluationSummary {
    fn from(event: &EvaluationFinishedV1) -> Self {
        let sampled = f64::from(event.tasks) * f64::from(event.samples);
        Self {
            iteration: event.iteration.0,
            set: event.set.clone(),
            temperature: event.temperature,
            tasks: event.tasks,
            samples: event.samples,
            solve_rate: if sampled > 0.0 { f64::from(event.solved) / sampled } else { 0.0 },
            solve_low: event.low,
            solve_high: event.high,
            pass_at: event.pass_at.iter().map(|pass| (pass.k, pass.value)).collect(),
            entropy: event.entropy,
            tokens_mean: event.tokens_mean,
        }
    }
}

/// Folds events into the rows.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    rows: BTreeMap<u32, Row>,
    current: u32,
    main: Option<(String, f32)>,
    watchdogs: u64,
    refused: Option<String>,
    finished: bool,
}

#[derive(Clone, Debug, Default)]
struct Row {
    shown: IterationSummary,
    rates: f64,
    tokens: u64,
    kept: u64,
}

impl Summary {
    /// Takes in the next event of the log.
    pub fn add(&mut self, event: &Event) {
        match event {
            Event::IterationStarted(started) => self.current = started.iteration.0,
            Event::CandidateGenerated(generated) => {
                let row = self.row();
                row.shown.candidates += 1;
                row.shown.refined += u32::from(generated.refined.is_some());
            }
            Event::CandidateRejected(rejected) => {
                *self.row().shown.rejected.entry(rejection_name(rejected.reason).to_owned()).or_default() +=
                    1;
            }
            Event::TaskAdmitted(admitted) => {
                let row = self.row();
                row.shown.admitted += 1;
                row.shown.filled += u32::from(!admitted.in_band);
                row.rates += f64::from(admitted.passed) / f64::from(admitted.sampled.max(1));
            }
            Event::UpdateApplied(update) => self.row().add_update(update),
            Event::EvaluationFinished(evaluation) => {
                self.current = evaluation.iteration.0;
                let kind = (evaluation.set.clone(), evaluation.temperature);
                let is_main = *self.main.get_or_insert_with(|| kind.clone()) == kind;
                self.row().add_evaluation(evaluation, is_main);
            }
            Event::EffectRecorded(effect) if effect.kind == WATCHDOG_EFFECT => self.watchdogs += 1,
            Event::UpdateRefused(refused) => self.refused = Some(refused.reason.clone()),
            Event::RunFinished(_) => self.finished = true,
            _ => {}
        }
    }

    /// The rows so far, the base first.
    #[must_use]
    pub fn iterations(&self) -> Vec<IterationSummary> {
        self.rows.iter().map(|(&iteration, row)| row.show(iteration)).collect()
    }

    fn row(&mut self) -> &mut Row {
        self.rows.entry(self.current).or_default()
    }
}

impl Row {
    fn add_update(&mut self, update: &UpdateAppliedV1) {
        self.tokens += update.tokens;
        self.kept += update.kept;
        self.shown.updates += 1;
        self.shown.updates_with_drops += u32::from(update.kept < update.tokens);
    }

    /// The first measurement of a run is the one whose figures stand in every row.
    fn add_evaluation(&mut self, event: &EvaluationFinishedV1, is_main: bool) {
        let evaluation = EvaluationSummary::from(event);
        if is_main {
            self.shown.solve_rate = Some(evaluation.solve_rate);
            self.shown.solve_low = Some(evaluation.solve_low);
            self.shown.solve_high = Some(evaluation.solve_high);
            self.shown.entropy = Some(event.entropy);
            self.shown.tokens_mean = Some(event.tokens_mean);
        }
        self.shown.evaluations.push(evaluation);
    }

    fn show(&self, iteration: u32) -> IterationSummary {
        let admitted = self.shown.admitted;
        IterationSummary {
            iteration,
            p_hat_mean: (admitted > 0).then(|| self.rates / f64::from(admitted)),
            kept_share: (self.tokens > 0).then(|| self.kept as f64 / self.tokens as f64),
            ..self.shown.clone()
        }
    }
}

/// A rejection as JSON writes it; people read it with spaces.
#[must_use]
pub fn rejection_name(rejection: Rejection) -> &'static str {
    match rejection {
        Rejection::DoesNotLoad => "does_not_load",
        Rejection::NothingFails => "nothing_fails",
        Rejection::GoldFails => "gold_fails",
        Rejection::Unstable => "unstable",
        Rejection::NotVisible => "not_visible",
        Rejection::Exhausted => "exhausted",
        Rejection::Duplicate => "duplicate",
        Rejection::TooEasy => "too_easy",
        Rejection::TooHard => "too_hard",
        Rejection::NotNeeded => "not_needed",
    }
}
