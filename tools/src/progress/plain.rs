//! Progress as plain lines: one for each thing worth keeping in a log file, and now and then a sign of life.

use std::time::Duration;

use super::state::State;
use super::{Notice, Phase, time_left};
use crate::text;

/// Silence after which a sign of life is given.
const QUIET: Duration = Duration::from_secs(15);

/// Makes lines of notices.
pub(super) struct Plain {
    spoke: Duration,
}

impl Plain {
    pub(super) fn new() -> Self {
        Self { spoke: Duration::ZERO }
    }

    /// The lines to print after `notice`, which `state` has taken in already.
    pub(super) fn lines(&mut self, notice: &Notice, state: &State, elapsed: Duration) -> Vec<String> {
        let line = told(notice, state).or_else(|| {
            let quiet = elapsed.saturating_sub(self.spoke) >= QUIET;
            quiet.then(|| sign_of_life(state, elapsed)).flatten()
        });
        if line.is_some() {
            self.spoke = elapsed;
        }
        line.iter().map(|line| stamped(line, elapsed)).collect()
    }
}

/// The line about a notice that always has one, with the time.
pub(super) fn line(notice: &Notice, state: &State, elapsed: Duration) -> Option<String> {
    told(notice, state).map(|line| stamped(&line, elapsed))
}

fn stamped(line: &str, elapsed: Duration) -> String {
    format!("[{:>6}] {line}", text::duration(elapsed))
}

/// What a notice that always has a line says.
fn told(notice: &Notice, state: &State) -> Option<String> {
    let iteration = state.iteration;
    Some(match notice {
        Notice::Started { title, run_id, directory, iterations } => {
            let short: String = run_id.chars().take(12).collect();
            let iterations = text::counted(u64::from(*iterations), "iteration");
            format!(
                "run {short}: {title}, {iterations} (Ctrl-C is safe: `tadpole resume {directory}` goes on)"
            )
        }
        Notice::Recovered { note } => format!("a torn tail was cut off the log: {}", note.trim_end()),
        Notice::Resumed { step } => format!("going on with step {step}"),
        Notice::AlreadyOver => "the run is over already: there is nothing to go on with".to_owned(),
        Notice::BatchClosed { budget_spent } => {
            let spent = if *budget_spent { ", budget spent" } else { "" };
            format!(
                "iteration {iteration}: {} admitted of {} candidates ({} refined){spent}; p-hat {}",
                state.admitted,
                state.candidates,
                state.refined,
                histogram(state),
            )
        }
        Notice::Updated { update, updates, kept_share, entropy, kl, gradient_norm } => format!(
            "iteration {iteration}: update {}/{updates}: kept {}, entropy {entropy:.3}, kl {kl:.4}, gradient {gradient_norm:.2}",
            update + 1,
            text::percent(*kept_share),
        ),
        Notice::Evaluated { set, temperature, solve_rate, low, high, main } => {
            let change = state.solve.and_then(|solve| solve.change).filter(|_| *main);
            let change =
                change.map(|change| format!(", {} points", text::points(change))).unwrap_or_default();
            let how = if *temperature == 0.0 { "greedy".to_owned() } else { format!("T = {temperature}") };
            let (rate, low, high) = (text::percent(*solve_rate), text::percent(*low), text::percent(*high));
            format!("iteration {iteration}: {set} ({how}): solved {rate} [{low}, {high}]{change}")
        }
        Notice::Working { what } => (*what).to_owned(),
        Notice::Finished => "done".to_owned(),
        Notice::Advanced { work, done, total, detail } if done == total => {
            let joint = if detail.is_empty() { "" } else { ": " };
            format!("{work} {done}/{total}{joint}{detail}")
        }
        _ => return None,
    })
}

fn sign_of_life(state: &State, elapsed: Duration) -> Option<String> {
    let pace =
        state.pace(elapsed).map(|pace| format!(", {} tokens/s", text::quantity(pace))).unwrap_or_default();
    let left = time_left(elapsed, state.share()).map(|left| format!(", {} left", text::duration(left)));
    let left = left.unwrap_or_default();
    if let Some((work, detail)) = &state.work {
        let joint = if detail.is_empty() { "" } else { ": " };
        return Some(format!("{work} {}/{}{joint}{detail}{pace}{left}", state.done, state.total));
    }
    let phase = state.phase?;
    let playing = match state.playing {
        (_, 0) => String::new(),
        (done, due) => format!(", playing {done}/{due}"),
    };
    let work = match phase {
        Phase::Curriculum => {
            format!("{}/{} admitted, {} candidates{playing}", state.done, state.total, state.candidates)
        }
        Phase::Training => format!("{}/{} updates{playing}", state.done, state.total),
        Phase::Evaluating => format!("{}/{} trajectories", state.done, state.total),
        Phase::Opening => "making the held-out sets".to_owned(),
    };
    Some(format!("iteration {}: {}: {work}{pace}{left}", state.iteration, phase.name()))
}

/// `0 |▇▂▁   ▁▅| 1`.
pub(super) fn histogram(state: &State) -> String {
    format!("0 |{}| 1", text::sparkline(&state.histogram))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a sequence of notices, each with the second it comes at.
    fn transcript(notices: &[(u64, Notice)]) -> String {
        let (mut state, mut plain) = (State::default(), Plain::new());
        let mut lines = Vec::new();
        for (second, notice) in notices {
            let elapsed = Duration::from_secs(*second);
            state.apply(notice, elapsed);
            lines.extend(plain.lines(notice, &state, elapsed));
        }
        lines.join("\n")
    }

    #[test]
    fn a_run_reads_as_a_story() {
        let run_id = "0123456789abcdef0123456789abcdef".to_owned();
        let calibrated = |passed| Notice::Calibrated { passed, sampled: 8, before: None };
        let evaluated = |set: &str, temperature, solve_rate, main| Notice::Evaluated {
            set: set.into(),
            temperature,
            solve_rate,
            low: solve_rate - 0.03,
            high: solve_rate + 0.03,
            main,
        };
        let phase = |iteration, phase, total| Notice::PhaseStarted { iteration, phase, done: 0, total };
        let updated = Notice::Updated {
            update: 0,
            updates: 1,
            kept_share: 0.981,
            entropy: 0.2134,
            kl: 0.0031,
            gradient_norm: 0.87,
        };
        let story = [
            (
                0,
                Notice::Started {
                    title: "nano, seed 1".into(),
                    run_id,
                    directory: "runs/nano-1".into(),
                    iterations: 1,
                },
            ),
            (0, phase(0, Phase::Evaluating, 240)),
            (20, Notice::Sampled { trajectories: 100, tokens: 8_000, done: 100, due: 240 }),
            (30, evaluated("parameters", 0.6, 0.28, true)),
            (31, phase(1, Phase::Curriculum, 1)),
            (31, Notice::Generated { candidates: 3, refined: 1 }),
            (32, calibrated(0)),
            (33, calibrated(4)),
            (34, Notice::Rejected { reason: "too hard".into() }),
            (34, Notice::Admitted),
            (35, Notice::BatchClosed { budget_spent: true }),
            (36, phase(1, Phase::Training, 1)),
            (70, Notice::Sampled { trajectories: 8, tokens: 700, done: 8, due: 8 }),
            (72, updated),
            (73, phase(1, Phase::Evaluating, 240)),
            (80, evaluated("parameters", 0.6, 0.409, true)),
            (81, evaluated("parameters", 0.0, 0.6, false)),
            (82, Notice::Finished),
        ];
        insta::assert_snapshot!(transcript(&story));
    }

    #[test]
    fn long_work_gives_signs_of_life_and_says_when_it_is_done() {
        let verified = |done| Notice::Advanced { work: "verified", done, total: 40, detail: String::new() };
        let story = [(1, verified(1)), (16, verified(4)), (20, verified(5)), (160, verified(40))];
        assert_eq!(transcript(&story), "[   16s] verified 4/40, 2m24s left\n[ 2m40s] verified 40/40");
    }
}
