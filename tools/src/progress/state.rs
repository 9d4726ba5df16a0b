//! What the notices add up to.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::{Notice, Phase};

/// How far back the pace of sampling looks.
const WINDOW: Duration = Duration::from_secs(10);

/// Work of measuring the base, in iterations.
const BASE: f64 = 0.2;

/// Buckets of the histogram of pass rates.
pub(super) const BUCKETS: usize = 9;

/// Where the work stands.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) iterations: u32,
    pub(super) iteration: u32,
    pub(super) phase: Option<Phase>,
    /// Units done in the phase.
    pub(super) done: u64,
    /// Units of the phase.
    pub(super) total: u64,
    pub(super) candidates: u32,
    pub(super) refined: u32,
    pub(super) admitted: u32,
    pub(super) rejected: BTreeMap<String, u32>,
    /// Latest p-hat of each candidate of the iteration, by eighths.
    pub(super) histogram: [u64; BUCKETS],
    /// Trajectories of the decision under way: those that are over, and all.
    pub(super) playing: (u64, u64),
    /// Work without iterations, with how it stands in words.
    pub(super) work: Option<(&'static str, String)>,
    pub(super) tokens: u64,
    pub(super) solve: Option<Solve>,
    pub(super) base: Option<f64>,
    recent: VecDeque<(Duration, u64)>,
    share: Option<f64>,
}

/// A measurement on the main set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Solve {
    pub(super) rate: f64,
    /// Against the measurement before.
    pub(super) change: Option<f64>,
}

impl State {
    /// Takes a notice in.
    pub(super) fn apply(&mut self, notice: &Notice, elapsed: Duration) {
        match notice {
            Notice::Started { iterations, .. } => self.iterations = *iterations,
            Notice::IterationStarted { iteration } => self.turn(*iteration),
            Notice::PhaseStarted { iteration, phase, done, total } => {
                if *iteration != self.iteration {
                    self.turn(*iteration);
                }
                (self.phase, self.done, self.total) = (Some(*phase), *done, *total);
            }
            Notice::Past(notice) => self.apply(notice, elapsed),
            Notice::Sampled { trajectories, tokens, done, due } => {
                self.playing = (*done, *due);
                self.sampled(*tokens, elapsed);
                if matches!(self.phase, Some(Phase::Evaluating)) {
                    self.done += trajectories;
                }
            }
            Notice::Generated { candidates, refined } => {
                self.candidates += candidates;
                self.refined += refined;
            }
            Notice::Calibrated { passed, sampled, before } => {
                if let Some((passed, sampled)) = before {
                    let count = &mut self.histogram[bucket(*passed, *sampled)];
                    *count = count.saturating_sub(1);
                }
                self.histogram[bucket(*passed, *sampled)] += 1;
            }
            Notice::Admitted => {
                self.admitted += 1;
                self.done = u64::from(self.admitted);
            }
            Notice::Rejected { reason } => *self.rejected.entry(reason.clone()).or_default() += 1,
            Notice::Updated { update, .. } => self.done = u64::from(*update) + 1,
            Notice::Evaluated { solve_rate, main: true, .. } => {
                let change = self.solve.map(|before| solve_rate - before.rate);
                self.base = self.base.or(Some(*solve_rate));
                self.solve = Some(Solve { rate: *solve_rate, change });
            }
            Notice::Advanced { work, done, total, detail } => {
                (self.done, self.total) = (*done, *total);
                self.work = Some((work, detail.clone()));
                self.share = Some(ratio(*done, *total));
            }
            Notice::Evaluated { .. }
            | Notice::BatchClosed { .. }
            | Notice::Resumed { .. }
            | Notice::Recovered { .. }
            | Notice::Working { .. }
            | Notice::AlreadyOver => {}
            Notice::Finished => self.share = Some(1.0),
        }
    }

    fn turn(&mut self, iteration: u32) {
        self.iteration = iteration;
        (self.candidates, self.refined, self.admitted) = (0, 0, 0);
        self.rejected.clear();
        self.histogram = [0; BUCKETS];
    }

    fn sampled(&mut self, tokens: u64, elapsed: Duration) {
        self.tokens += tokens;
        self.recent.push_back((elapsed, tokens));
        while self.recent.front().is_some_and(|(at, _)| *at + WINDOW < elapsed) {
            self.recent.pop_front();
        }
    }

    /// Tokens a second over the last seconds; none where nothing was sampled in them.
    pub(super) fn pace(&self, elapsed: Duration) -> Option<f64> {
        let since = elapsed.saturating_sub(WINDOW);
        let recent: u64 = self.recent.iter().filter(|(at, _)| *at >= since).map(|(_, tokens)| tokens).sum();
        let span = elapsed.min(WINDOW).as_secs_f64();
        (recent > 0 && span > 0.0).then(|| recent as f64 / span)
    }

    /// Share of the phase that is done.
    pub(super) fn phase_share(&self) -> f64 {
        ratio(self.done, self.total)
    }

    /// Share of all work that is done, by rough weights of the phases.
    pub(super) fn share(&self) -> f64 {
        if let Some(share) = self.share {
            return share;
        }
        let within = match self.phase {
            None | Some(Phase::Opening) => 0.0,
            Some(Phase::Curriculum) => 0.4 * self.phase_share(),
            Some(Phase::Training) => 0.4 + 0.4 * self.phase_share(),
            Some(Phase::Evaluating) => 0.8 + 0.2 * self.phase_share(),
        };
        let done = if self.iteration == 0 {
            BASE * (within - 0.8).max(0.0) / 0.2
        } else {
            BASE + f64::from(self.iteration - 1) + within
        };
        (done / (BASE + f64::from(self.iterations))).clamp(0.0, 1.0)
    }
}

/// The bucket of a pass rate.
fn bucket(passed: u32, sampled: u32) -> usize {
    let bucket = u64::from(passed) * (BUCKETS as u64 - 1) / u64::from(sampled).max(1);
    bucket.min(BUCKETS as u64 - 1) as usize
}

fn ratio(done: u64, total: u64) -> f64 {
    if total == 0 { 0.0 } else { (done as f64 / total as f64).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn state(notices: &[Notice]) -> State {
        let mut state = State::default();
        for notice in notices {
            state.apply(notice, seconds(1));
        }
        state
    }

    fn started() -> Notice {
        Notice::Started {
            title: "nano, seed 1".into(),
            run_id: "ab".into(),
            directory: "r".into(),
            iterations: 2,
        }
    }

    fn phase(iteration: u32, phase: Phase, total: u64) -> Notice {
        Notice::PhaseStarted { iteration, phase, done: 0, total }
    }

    fn evaluated(solve_rate: f64, main: bool) -> Notice {
        Notice::Evaluated { set: "s".into(), temperature: 0.6, solve_rate, low: 0.0, high: 1.0, main }
    }

    #[test]
    fn the_share_of_work_never_falls_along_a_run() {
        let mut state = state(&[started()]);
        let mut last = 0.0;
        let mut step = |notice: Notice| {
            state.apply(&notice, seconds(1));
            let share = state.share();
            assert!(share >= last, "{notice:?}: {share} after {last}");
            last = share;
        };
        step(phase(0, Phase::Opening, 1));
        step(phase(0, Phase::Evaluating, 4));
        (0..4).for_each(|_| step(Notice::Sampled { trajectories: 1, tokens: 5, done: 1, due: 1 }));
        for iteration in 1..=2 {
            step(phase(iteration, Phase::Curriculum, 2));
            (0..2).for_each(|_| step(Notice::Admitted));
            step(phase(iteration, Phase::Training, 1));
            step(Notice::Updated {
                update: 0,
                updates: 1,
                kept_share: 1.0,
                entropy: 0.2,
                kl: 0.0,
                gradient_norm: 1.0,
            });
            step(phase(iteration, Phase::Evaluating, 1));
            step(Notice::Sampled { trajectories: 1, tokens: 5, done: 1, due: 1 });
        }
        assert!((last - 1.0).abs() < 1e-9, "{last}");
    }

    #[test]
    fn the_histogram_counts_pass_rates_of_the_iteration_alone() {
        let calibrated = |passed, sampled| Notice::Calibrated { passed, sampled, before: None };
        let mut state = state(&[
            started(),
            phase(1, Phase::Curriculum, 9),
            calibrated(0, 4),
            calibrated(2, 4),
            calibrated(8, 8),
        ]);
        assert_eq!(state.histogram, [1, 0, 0, 0, 1, 0, 0, 0, 1]);
        state.apply(&Notice::Calibrated { passed: 3, sampled: 8, before: Some((2, 4)) }, seconds(1));
        assert_eq!(state.histogram, [1, 0, 0, 1, 0, 0, 0, 0, 1]);
        state.apply(&phase(1, Phase::Training, 9), seconds(1));
        assert_eq!(state.histogram.iter().sum::<u64>(), 3);
        state.apply(&phase(2, Phase::Curriculum, 9), seconds(1));
        assert_eq!(state.histogram.iter().sum::<u64>(), 0);
    }

    #[test]
    fn the_pace_is_that_of_the_last_seconds() {
        let mut state = State::default();
        let sampled = |tokens| Notice::Sampled { trajectories: 1, tokens, done: 1, due: 1 };
        state.apply(&sampled(1_000), seconds(1));
        state.apply(&sampled(500), seconds(30));
        assert_eq!(state.pace(seconds(30)), Some(50.0));
        assert_eq!(state.pace(seconds(60)), None);
        assert_eq!(state.tokens, 1_500);
    }

    #[test]
    fn solve_rates_are_those_of_the_main_set() {
        let state = state(&[evaluated(0.25, true), evaluated(0.9, false), evaluated(0.5, true)]);
        assert_eq!(state.solve, Some(Solve { rate: 0.5, change: Some(0.25) }));
        assert_eq!(state.base, Some(0.25));
    }
}
