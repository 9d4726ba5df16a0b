//! `tadpole verify`: decide everything in a run again and compare it with the log.

use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::arguments::Speed;
use crate::engine::{Difference, Engine, VerifyReport, VerifyRequest};
use crate::failure::Failure;
use crate::{scenario, text};

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
    let VerifyReport { run_id, steps, executed, events, differences } = &report;
    if let Some(first) = differences.first() {
        let others = differences.len() - 1;
        let more = if others == 0 {
            String::new()
        } else {
            format!("\n       with {} behind it", text::counted(others as u64, "further difference"))
        };
        let what = format!("re-execution does not confirm the log{}{more}", diff(first));
        return Err(Failure::failed(what).at(options.run.display()).help(
            "the log was changed, or this build decides otherwise than the one that made the run; `tadpole doctor` checks this machine",
        ));
    }
    if !options.json {
        writeln!(out, "run    {run_id}")?;
        writeln!(out, "{executed} of {steps} steps decided again, {events} events compared: no difference")?;
    }
    Ok(())
}

/// A difference with both sides.
fn diff(difference: &Difference) -> String {
    let Difference { step, index, event, field, recorded, recomputed } = difference;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _infallible = write!(
        text,
        "\n step: {step}\nevent: {index} ({event})\nfield: {field}\n     - recorded   {recorded}\n     + recomputed {recomputed}"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_directory, tadpole};
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
            index: 3,
            event: "TrajectoryFinished".into(),
            field: "segments[0].log_probs[12]".into(),
            recorded: "-0.25".into(),
            recomputed: "-0.26".into(),
        };
        let engine = Sample { differences: vec![difference.clone(), difference], ..Sample::default() };
        let failure = tadpole("verify {}", &run, &engine).expect_err("differs");
        assert_eq!(failure.kind(), Kind::Failed);
        insta::assert_snapshot!(failure.to_string().replace(run.to_str().unwrap(), "RUN"));
    }
}
