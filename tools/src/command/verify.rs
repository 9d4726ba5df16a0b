//! `tadpole verify`: decide everything in a run again and compare it with the log.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use tadpole_kernel::verify::{Difference, FieldDifference};

use crate::arguments::Speed;
use crate::engine::{Engine, VerifyReport, VerifyRequest};
use crate::failure::Failure;
use crate::{scenario, text};

/// Differences shown in full; what lies behind is counted.
const SHOWN: usize = 3;

/// Arguments of `tadpole verify`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The run's directory.
    run: PathBuf,
    /// Share of decisions to re-execute, chosen by the run's seed: above 0, at most 1.
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
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
        threads: options.speed.threads,
    };
    let progress = super::run::progress();
    let report = engine.verify(&request, &progress)?;
    drop(progress);
    if options.json {
        super::json(out, &report)?;
    }
    if !report.differences.is_empty() {
        return Err(differs(&report, &options.run));
    }
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
    Failure::failed(format!("re-execution does not confirm the log{shown}{more}")).at(run.display()).help(
        "the log was changed, or this build decides otherwise than the one that made the run; `tadpole doctor` checks this machine",
    )
}

/// A difference with both sides.
fn diff(difference: &Difference) -> String {
    let Difference::Event { step, system, index, sequence, name, fields, more } = difference else {
        return format!("\n{difference}");
    };
    let side = |value: &Option<Value>| value.as_ref().map_or_else(|| "absent".to_owned(), Value::to_string);
    let mut text = format!("\n step: {step} (system {system})\nevent: {index} of the step, {name}, sequence {sequence}");
    for FieldDifference { path, recorded, recomputed } in fields {
        let (recorded, recomputed) = (side(recorded), side(recomputed));
        text += &format!("\nfield: {path}\n     - recorded   {recorded}\n     + recomputed {recomputed}");
    }
    if *more > 0 {
        text += &format!("\n       and {}", text::counted(*more as u64, "more field"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_directory, tadpole};
    use serde_json::json;
    use tadpole_kernel::id::{Sequence, Step};

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
        let (recorded, recomputed) = (Some(json!(-0.25)), Some(json!(-0.26)));
        let difference = Difference::Event {
            step: Step(17),
            system: "calibrate",
            index: 3,
            sequence: Sequence(412),
            name: "TrajectoryFinished",
            fields: vec![FieldDifference { path: "segments[0].log_probs[12]".into(), recorded, recomputed }],
            more: 1,
        };
        let others = std::iter::repeat_n(Difference::Over { step: Step(20) }, 4);
        let engine = Sample { differences: [difference].into_iter().chain(others).collect(), ..Sample::default() };
        let failure = tadpole("verify {}", &run, &engine).expect_err("differs");
        assert_eq!(failure.kind(), Kind::Failed);
        insta::assert_snapshot!(failure.to_string().replace(run.to_str().unwrap(), "RUN"));
    }
}
