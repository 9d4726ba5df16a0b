//! `tadpole verify`: decide everything in a run again and compare it with the log.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use tadpole_kernel::verify::FieldDifference;

use crate::arguments::Speed;
use crate::engine::{Difference, Engine, VerifyReport, VerifyRequest};
use crate::failure::Failure;
use crate::{scenario, text};

/// Differences shown in full; what lies behind is counted.
const SHOWN: usize = 3;

/// Characters shown of one side of a difference.
const SIDE: usize = 160;

/// Arguments of `tadpole verify`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The run's directory.
    run: PathBuf,
    /// Share of decisions to re-execute, chosen by the run's seed: above 0, at most 1.
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share, allow_negative_numbers = true)]
    sample: f64,
    /// Trust the recorded weights instead of training again.
    #[arg(long)]
    skip_updates: bool,
    #[command(flatten)]
    speed: Speed,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err(format!("{text} is not a share above 0 and at most 1")),
    }
}

/// Runs the command.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    scenario::existing_run(&options.run)?;
    let request = VerifyRequest {
        run: options.run.clone(),
        sample: options.sample,
        skip_updates: options.skip_updates,
        speed: options.speed.clone(),
    };
    let progress = super::run::progress();
    let report = engine.verify(&request, &progress)?;
    drop(progress);
    // What was found counts, whether or not it could be written.
    let written = if options.json { super::json(out, &report) } else { Ok(()) };
    if !report.differences.is_empty() {
        return Err(differs(&report, &options.run));
    }
    written?;
    if !options.json {
        write!(out, "{}", agrees(&report, &options.run))?;
    }
    Ok(())
}

fn agrees(report: &VerifyReport, run: &Path) -> String {
    let VerifyReport { run_id, steps, executed, events, complete, out_of_reach, differences: _ } = report;
    let mut lines = vec![
        format!("run    {run_id}"),
        format!("{executed} of {steps} steps decided again, {events} events in the log: no difference"),
    ];
    if !out_of_reach.is_empty() {
        lines.push(format!(
            "{} could not be decided again: what they start from was dropped, and the steps that make it were left out; verify without --sample and --skip-updates",
            text::counted(out_of_reach.len() as u64, "step"),
        ));
    }
    if !complete {
        lines.push(format!("the run is not finished: `tadpole resume {}` goes on", run.display()));
    }
    lines.join("\n") + "\n"
}

fn differs(report: &VerifyReport, run: &Path) -> Failure {
    let shown: String = report.differences.iter().take(SHOWN).map(diff).collect();
    let more = match report.differences.len() - report.differences.len().min(SHOWN) {
        0 => String::new(),
        more => format!("\n with {} behind them", text::counted(more as u64, "further difference")),
    };
    let help = if report.differences.iter().any(Difference::is_of_a_blob) {
        format!("blobs are damaged or missing: `tadpole check {}` says which and what to do", run.display())
    } else {
        "the log was changed, or this build decides otherwise than the one that made the run; `tadpole doctor` checks this machine".to_owned()
    };
    Failure::failed(format!("re-execution does not confirm the log{shown}{more}"))
        .at(run.display())
        .help(help)
}

/// A difference with both sides.
fn diff(difference: &Difference) -> String {
    let Difference { step, index, event, field, recorded, recomputed, also, more, text } = difference;
    let (Some(index), Some(event)) = (index, event) else { return format!("\n{text}") };
    let mut lines = vec![String::new(), format!(" step: {step}"), format!("event: {index} ({event})")];
    let first =
        FieldDifference { path: field.clone(), recorded: recorded.clone(), recomputed: recomputed.clone() };
    for FieldDifference { path, recorded, recomputed } in std::iter::once(&first).chain(also) {
        let (recorded, recomputed) = (side(recorded.as_ref()), side(recomputed.as_ref()));
        lines.push(format!("field: {path}"));
        lines.push(format!("     - recorded   {recorded}"));
        lines.push(format!("     + recomputed {recomputed}"));
    }
    if *more > 0 {
        lines.push(format!("       and {}", text::counted(*more, "more field")));
    }
    lines.join("\n")
}

/// One side of a difference, in a line.
fn side(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "absent".to_owned(), Value::to_string);
    match text.char_indices().nth(SIDE) {
        None => text,
        Some((end, _)) => format!("{}... ({} characters)", &text[..end], text.chars().count()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_directory, tadpole, unread};
    use serde_json::json;

    use super::*;
    use crate::engine::samples::Sample;
    use crate::failure::Kind;

    #[test]
    fn a_run_that_agrees_is_done() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let engine = Sample::default();
        let printed = tadpole("verify {} --sample 0.5 --skip-updates", &run, &engine).unwrap();
        assert!(printed.contains("400 of 412 steps decided again"), "{printed}");
        assert_eq!(*engine.asked.borrow(), ["(0.5, true)"]);
    }

    #[test]
    fn a_difference_names_step_event_and_field_with_both_sides() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let difference = Difference {
            step: 17,
            index: Some(3),
            event: Some("TrajectoryFinished".into()),
            field: "segments[0].log_probs[12]".into(),
            recorded: Some(json!(-0.25)),
            recomputed: Some(json!(-0.26)),
            also: vec![FieldDifference {
                path: "reward".into(),
                recorded: Some(json!("x".repeat(500))),
                recomputed: None,
            }],
            more: 1,
            text: String::new(),
        };
        let other = Difference {
            event: None,
            text: "step 20: the run was over, yet it goes on".into(),
            ..difference.clone()
        };
        let others = std::iter::repeat_n(other.clone(), 4);
        let engine =
            Sample { differences: [difference].into_iter().chain(others).collect(), ..Sample::default() };
        let failure = tadpole("verify {}", &run, &engine).expect_err("differs");
        assert_eq!(failure.kind(), Kind::Failed);
        insta::assert_snapshot!(failure.to_string().replace(run.to_str().unwrap(), "RUN"));
        assert_eq!(unread("verify {} --json", &run, &engine).kind(), Kind::Failed);
        assert_eq!(unread("verify {} --json", &run, &Sample::default()).kind(), Kind::Closed);
        let blob = Difference { index: None, field: Difference::BLOB.into(), ..other };
        let engine = Sample { differences: vec![blob], ..Sample::default() };
        let failure = tadpole("verify {}", &run, &engine).expect_err("a lost blob").to_string();
        assert!(failure.contains("tadpole check") && !failure.contains("this build"), "{failure}");
    }
}
