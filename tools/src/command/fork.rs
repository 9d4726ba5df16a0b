//! `tadpole fork`: a new run that goes on from a step of another.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use tadpole_scenarios::schema::Override;

use crate::arguments::{Speed, whole};
use crate::engine::{Engine, ForkReport, ForkRequest};
use crate::failure::Failure;
use crate::scenario;

/// Arguments of `tadpole fork`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The run to fork; it is only read.
    run: PathBuf,
    /// The last step that both share.
    #[arg(long, value_name = "STEP", value_parser = whole, allow_negative_numbers = true)]
    at: u64,
    /// Set a key of the scenario from there on, e.g. curriculum.admission="0 < p < 1"; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<Override>,
    /// The new run's directory. It must not exist.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Go on with the new run at once.
    #[arg(long = "run")]
    go_on: bool,
    #[command(flatten)]
    speed: Speed,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    scenario::existing_run(&options.run)?;
    let directory = scenario::absent(options.out.clone(), "choose another (--out DIR), or remove it")?;
    let report = engine.fork(&ForkRequest {
        run: options.run.clone(),
        at: options.at,
        set: options.set.clone(),
        directory: directory.clone(),
    })?;
    if !options.go_on {
        return if options.json {
            super::json(out, &report)
        } else {
            Ok(write!(out, "{}", told(&report, &directory))?)
        };
    }
    let progress = super::run::progress();
    let summary = engine.resume(&directory, &options.speed, &progress)?;
    drop(progress);
    super::run::report(&summary, &directory, options.json, out)
}

fn told(report: &ForkReport, directory: &Path) -> String {
    let ForkReport { run_id, parent, step, chain, changes, linked, copied } = report;
    let mut lines = vec![
        format!("run    {run_id}"),
        format!("fork of {parent} at step {step}"),
        format!("chain  {chain}"),
    ];
    if changes.is_empty() {
        lines.push("the scenario is the same: the same will happen".to_owned());
    }
    for change in changes {
        let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".to_owned());
        lines.push(format!("{}: {} -> {}", change.key, side(&change.was), side(&change.becomes)));
    }
    let directory = directory.display();
    lines.push(format!("{linked} files shared with it, {copied} copied, in {directory}"));
    lines.push(format!("go on with `tadpole resume {directory}`"));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_directory, tadpole};
    use crate::engine::samples::Sample;
    use crate::failure::Kind;

    #[test]
    fn a_fork_says_where_it_comes_from_and_what_changes() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let engine = Sample::default();
        let line = "fork {} --at 57 --set curriculum.admission=0<p<1 --out {}-child";
        let printed = tadpole(line, &run, &engine).unwrap();
        insta::assert_snapshot!(printed.replace(run.to_str().unwrap(), "RUN"));
        assert_eq!(*engine.asked.borrow(), [format!("({run:?}, 57, [\"curriculum.admission=0<p<1\"])")]);
    }

    #[test]
    fn with_run_it_goes_on_at_once() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let engine = Sample::default();
        let printed = tadpole("fork {} --at 57 --out {}-child --run --threads 2", &run, &engine).unwrap();
        assert!(printed.contains("412 steps"), "{printed}");
        let child = parent.path().join("run-child");
        assert_eq!(engine.asked.borrow()[1], format!("({child:?}, Some(2), None)"));
    }

    #[test]
    fn nothing_is_asked_where_the_parent_or_the_place_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        for line in ["fork {} --at 1 --out {}", "fork {}-absent --at 1 --out {}-child"] {
            let engine = Sample::default();
            let failure = tadpole(line, &run, &engine).expect_err(line);
            assert_eq!(failure.kind(), Kind::Usage, "{failure}");
            assert!(engine.asked.borrow().is_empty());
        }
    }
}
