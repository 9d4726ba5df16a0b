//! `tadpole replay`: rebuild the world from a run's log.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::arguments::whole;
use crate::engine::{Engine, ReplayReport};
use crate::failure::Failure;
use crate::{scenario, text};

/// Arguments of `tadpole replay`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The run's directory.
    run: PathBuf,
    /// The step to stop after, from 0; without it, the last.
    #[arg(long, value_name = "STEP", value_parser = whole, allow_negative_numbers = true)]
    to: Option<u64>,
    /// Make the keyframes that the run lacks, so that any step of it can be reached fast, instead of printing a world.
    #[arg(long, conflicts_with_all = ["to", "json"])]
    keyframes: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    scenario::existing_run(&options.run)?;
    let progress = super::run::progress();
    if options.keyframes {
        let count = engine.keyframes(&options.run, &progress)?;
        drop(progress);
        let directory = options.run.join("keyframes");
        writeln!(out, "{} in {}", text::counted(count, "keyframe"), directory.display())?;
        return Ok(());
    }
    let report = engine.replay(&options.run, options.to, &progress)?;
    drop(progress);
    if options.json {
        return super::json(out, &report);
    }
    let ReplayReport { run_id, step, last_step, events, chain, world, entities } = &report;
    writeln!(out, "run    {run_id}\nchain  {chain}\nworld  {world}")?;
    writeln!(out, "step {step} of {last_step}, {events} events; every world digest on the way agrees")?;
    for (component, count) in entities {
        writeln!(out, "{count:>7} {component}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_directory, tadpole};
    use crate::engine::samples::Sample;

    #[test]
    fn the_world_digest_of_a_step_is_printed() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let engine = Sample::default();
        let printed = tadpole("replay {} --to 12 --json", &run, &engine).unwrap();
        let value: serde_json::Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(value["step"], 12);
        assert_eq!(value["world"], "3d".repeat(32));
        let printed = tadpole("replay {} --keyframes", &run, &engine).unwrap();
        assert!(printed.starts_with("11 keyframes in "), "{printed}");
        let printed = tadpole("replay {}", &run, &engine).unwrap();
        assert!(printed.contains("step 411 of 411"), "{printed}");
    }
}
