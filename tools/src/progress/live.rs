//! Progress on a terminal: two lines that stay in place.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::state::State;
use super::{Notice, Phase, plain, time_left};
use crate::text;

/// Steps of the bar.
const STEPS: u64 = 1_000;

/// The two lines.
pub(super) struct Live {
    bar: ProgressBar,
}

impl Live {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(8));
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3}%  {prefix}\n{msg}") {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Self { bar }
    }

    /// Shows `state`, which has taken `notice` in already; `line` stays above.
    pub(super) fn show(&self, notice: &Notice, line: Option<String>, state: &State, elapsed: Duration) {
        if let Some(line) = line {
            self.bar.println(line);
        }
        if matches!(notice, Notice::Finished | Notice::AlreadyOver) {
            return self.bar.finish_and_clear();
        }
        self.bar.set_prefix(heading(state));
        self.bar.set_message(figures(state, elapsed));
        self.bar.set_position((state.share() * STEPS as f64) as u64);
    }
}

impl Drop for Live {
    /// A failure must not leave half a bar above its message.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// `iteration 2/5: curriculum 31/128 admitted of 120 candidates, playing 40/256`.
fn heading(state: &State) -> String {
    let playing = match state.playing {
        (_, 0) => String::new(),
        (done, due) => format!(", playing {done}/{due}"),
    };
    if let Some((work, detail)) = &state.work {
        let joint = if detail.is_empty() { "" } else { ": " };
        return format!("{work} {}/{}{joint}{detail}{playing}", state.done, state.total);
    }
    let work = match state.phase {
        None => return "starting".to_owned(),
        Some(Phase::Opening) => "making the held-out sets".to_owned(),
        Some(Phase::Curriculum) => {
            let (done, total, candidates) = (state.done, state.total, state.candidates);
            format!("curriculum {done}/{total} admitted of {candidates} candidates{playing}")
        }
        Some(Phase::Training) => format!("training {}/{} updates{playing}", state.done, state.total),
        Some(Phase::Evaluating) => format!("evaluating {}/{} trajectories", state.done, state.total),
    };
    match state.iteration {
        0 => format!("base: {work}"),
        iteration => format!("iteration {iteration}/{}: {work}", state.iterations),
    }
}

/// `p-hat 0 |▇▂▁   ▁▅| 1   solved 41.2% (+12.9)   3.1k tokens/s   4m10s left`.
fn figures(state: &State, elapsed: Duration) -> String {
    let mut parts = Vec::new();
    if state.histogram.iter().any(|count| *count > 0) {
        parts.push(format!("p-hat {}", plain::histogram(state)));
    }
    if let Some(solve) = state.solve {
        let gain = state.base.map(|base| solve.rate - base).filter(|_| solve.change.is_some());
        let gain = gain.map(|gain| format!(" ({} since the base)", text::points(gain))).unwrap_or_default();
        parts.push(format!("solved {}{gain}", text::percent(solve.rate)));
    }
    if let Some(pace) = state.pace(elapsed) {
        parts.push(format!("{} tokens/s", text::quantity(pace)));
    }
    if let Some(left) = time_left(elapsed, state.share()) {
        parts.push(format!("{} left", text::duration(left)));
    }
    parts.join("   ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_and_figures_show_where_the_run_stands() {
        let mut state = State::default();
        let notices = [
            Notice::Started {
                title: "nano".into(),
                run_id: "ab".into(),
                directory: "r".into(),
                iterations: 5,
            },
            Notice::Evaluated {
                set: "s".into(),
                temperature: 0.6,
                solve_rate: 0.25,
                low: 0.2,
                high: 0.3,
                main: true,
            },
            Notice::Evaluated {
                set: "s".into(),
                temperature: 0.6,
                solve_rate: 0.4,
                low: 0.3,
                high: 0.5,
                main: true,
            },
            Notice::PhaseStarted { iteration: 2, phase: Phase::Curriculum, done: 0, total: 128 },
            Notice::Generated { candidates: 120, refined: 0 },
            Notice::Calibrated { passed: 4, sampled: 8, before: None },
            Notice::Admitted,
            Notice::Sampled { trajectories: 8, tokens: 31_000, done: 8, due: 96 },
        ];
        let elapsed = Duration::from_secs(10);
        for notice in &notices {
            state.apply(notice, elapsed);
        }
        assert_eq!(
            heading(&state),
            "iteration 2/5: curriculum 1/128 admitted of 120 candidates, playing 8/96"
        );
        assert_eq!(
            figures(&state, elapsed),
            "p-hat 0 |    █    | 1   solved 40.0% (+15.0 since the base)   3.1k tokens/s   33s left"
        );
    }

    #[test]
    fn the_template_is_one_that_indicatif_takes() {
        assert!(ProgressStyle::with_template("{bar:24} {percent:>3}%  {prefix}\n{msg}").is_ok());
    }
}
