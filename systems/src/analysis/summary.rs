//! The table of iterations: one row for the base, one for each iteration that was trained.

use std::collections::BTreeMap;

use serde::Serialize;
use tadpole_kernel::event::{EvaluationFinishedV1, Event, Rejection, UpdateAppliedV1};
use tadpole_kernel::id::StableId;

/// What `show --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// CPU seconds of all processes so far; from the wall-clock sidecar, `None` where it is not there.
    pub cpu_s: Option<f64>,
    /// Verdicts that a wall-clock watchdog gave: 0 in every shipped scenario.
    pub watchdog_verdicts: u64,
    /// Iteration 0 is the base.
    pub iterations: Vec<IterationSummary>,
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IterationSummary {
    /// 0 for the base.
    pub iteration: u32,
    /// Candidates generated, refined ones included.
    pub candidates: u32,
    /// Tasks admitted, filled ones included.
    pub admitted: u32,
    /// Of them, taken as the nearest mixed group after the budget was spent.
    pub filled: u32,
    /// Candidates made by refining another.
    pub refined: u32,
    /// Rejections by reason.
    pub rejected: BTreeMap<String, u32>,
    /// Mean calibrated pass rate of its candidates.
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
    /// Updates in which the mask dropped a token.
    pub updates_with_drops: u32,
    /// Updates applied.
    pub updates: u32,
    /// Every evaluation of the policy that the iteration published.
    pub evaluations: Vec<EvaluationSummary>,
}

/// One evaluation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvaluationSummary {
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
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Unbiased pass@k, by k.
    pub pass_at: BTreeMap<u32, f64>,
}

impl From<&EvaluationFinishedV1> for EvaluationSummary {
    fn from(event: &EvaluationFinishedV1) -> Self {
        let sampled = f64::from(event.tasks) * f64::from(event.samples);
        Self {
            set: event.set.clone(),
            temperature: event.temperature,
            tasks: event.tasks,
            samples: event.samples,
            solve_rate: if sampled > 0.0 { f64::from(event.solved) / sampled } else { 0.0 },
            low: event.low,
            high: event.high,
            pass_at: event.pass_at.iter().map(|pass| (pass.k, pass.value)).collect(),
        }
    }
}

/// Folds events into the rows.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    rows: Vec<Row>,
    current: usize,
    watchdogs: u64,
}

#[derive(Clone, Debug, Default)]
struct Row {
    shown: IterationSummary,
    looks: BTreeMap<StableId, (u32, u32)>,
    tokens: u64,
    kept: u64,
}

impl Summary {
    /// Takes in the next event of the log.
    pub fn add(&mut self, event: &Event) {
        match event {
            Event::IterationStarted(started) => self.current = started.iteration.0 as usize,
            Event::CandidateGenerated(generated) => {
                let row = self.row();
                row.shown.candidates += 1;
                row.shown.refined += u32::from(generated.refined.is_some());
            }
            Event::CandidateRejected(rejected) => {
                *self.row().shown.rejected.entry(reason(rejected.reason).to_owned()).or_default() += 1;
            }
            Event::CandidateCalibrated(look) => {
                let (passed, sampled) = self.row().looks.entry(look.candidate).or_default();
                *passed += look.passed;
                *sampled += look.sampled;
            }
            Event::TaskAdmitted(admitted) => {
                let row = self.row();
                row.shown.admitted += 1;
                row.shown.filled += u32::from(!admitted.in_band);
            }
            Event::UpdateApplied(update) => self.row().add_update(update),
            Event::EvaluationFinished(evaluation) => {
                self.current = evaluation.iteration.0 as usize;
                self.row().add_evaluation(evaluation);
            }
            Event::EffectRecorded(effect) if effect.kind == "watchdog" => self.watchdogs += 1,
            _ => {}
        }
    }

    /// The rows so far, the base first.
    #[must_use]
    pub fn iterations(&self) -> Vec<IterationSummary> {
        self.rows.iter().enumerate().map(|(iteration, row)| row.show(iteration as u32)).collect()
    }

    /// Verdicts that a wall-clock watchdog gave.
    #[must_use]
    pub fn watchdog_verdicts(&self) -> u64 {
        self.watchdogs
    }

    fn row(&mut self) -> &mut Row {
        if self.rows.len() <= self.current {
            self.rows.resize_with(self.current + 1, Row::default);
        }
        &mut self.rows[self.current]
    }
}

impl Row {
    fn add_update(&mut self, update: &UpdateAppliedV1) {
        self.tokens += update.tokens;
        self.kept += update.kept;
        self.shown.updates += 1;
        self.shown.updates_with_drops += u32::from(update.kept < update.tokens);
    }

    fn add_evaluation(&mut self, event: &EvaluationFinishedV1) {
        let evaluation = EvaluationSummary::from(event);
        if self.shown.evaluations.is_empty() {
            self.shown.solve_rate = Some(evaluation.solve_rate);
            self.shown.solve_low = Some(evaluation.low);
            self.shown.solve_high = Some(evaluation.high);
            self.shown.entropy = Some(event.entropy);
            self.shown.tokens_mean = Some(event.tokens_mean);
        }
        self.shown.evaluations.push(evaluation);
    }

    fn show(&self, iteration: u32) -> IterationSummary {
        let rates = self.looks.values().filter(|(_, sampled)| *sampled > 0);
        let (sum, count) = rates.fold((0.0, 0u32), |(sum, count), (passed, sampled)| {
            (sum + f64::from(*passed) / f64::from(*sampled), count + 1)
        });
        IterationSummary {
            iteration,
            p_hat_mean: (count > 0).then(|| sum / f64::from(count)),
            kept_share: (self.tokens > 0).then(|| self.kept as f64 / self.tokens as f64),
            ..self.shown.clone()
        }
    }
}

/// A rejection as people and JSON write it.
pub(super) fn reason(rejection: Rejection) -> &'static str {
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
