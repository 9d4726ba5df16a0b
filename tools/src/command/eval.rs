//! `tadpole eval`: measure a policy of a run on a held-out set.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tadpole_scenarios::schema::{Override, Scenario};

use crate::arguments::Speed;
use crate::engine::{Engine, EvalRequest};
use crate::failure::Failure;
use crate::{scenario, table};

/// Arguments of `tadpole eval`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The run's directory.
    run: PathBuf,
    /// The iteration whose published policy is measured, 0 for the base; without it, the last.
    #[arg(long, value_name = "I")]
    iteration: Option<u32>,
    /// Where the tasks are drawn from: `unseen_parameters` or `unseen_templates`.
    #[arg(long, default_value = "unseen_parameters")]
    split: String,
    /// Seed of the draw; one that no set of the run used gives tasks that nothing has seen.
    #[arg(long, value_name = "N", default_value_t = 4)]
    seed: u64,
    /// Tasks.
    #[arg(long, value_name = "N", default_value_t = 240)]
    tasks: u32,
    /// Trajectories a task.
    #[arg(long, value_name = "N", default_value_t = 1)]
    samples: u32,
    /// Sampling temperature.
    #[arg(long, value_name = "T", default_value_t = 0.6)]
    temperature: f32,
    /// Measure greedily as well.
    #[arg(long)]
    greedy: bool,
    #[command(flatten)]
    speed: Speed,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    scenario::existing_run(&options.run)?;
    let request = EvalRequest {
        run: options.run.clone(),
        iteration: options.iteration,
        set: set(options)?,
        threads: options.speed.threads,
    };
    let progress = super::run::progress();
    let evaluations = engine.eval(&request, &progress)?;
    drop(progress);
    if options.json {
        return super::json(out, &evaluations);
    }
    write!(out, "{}", table::evaluations(&evaluations))?;
    Ok(())
}

/// The set, checked as one of a scenario is.
fn set(options: &Options) -> Result<tadpole_scenarios::schema::HeldOutSet, Failure> {
    let pass_at: Vec<String> =
        [1, 2, 4, 8, 16, 32, 64].iter().filter(|k| **k <= options.samples).map(ToString::to_string).collect();
    let overrides = [
        ("name", "eval".to_owned()),
        ("split", options.split.clone()),
        ("seed", options.seed.to_string()),
        ("tasks", options.tasks.to_string()),
        ("samples", options.samples.to_string()),
        ("temperature", format!("{:?}", options.temperature)),
        ("greedy", options.greedy.to_string()),
        ("pass_at", format!("[{}]", pass_at.join(", "))),
    ]
    .map(|(key, value)| Override::new(format!("evaluation.sets.0.{key}"), value));
    let mut scenario = Scenario::parse_with("", "eval", &overrides)?;
    Ok(scenario.evaluation.sets.swap_remove(0))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_directory, tadpole};
    use crate::engine::samples::Sample;
    use crate::failure::Kind;

    #[test]
    fn the_set_is_checked_as_one_of_a_scenario_is() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let engine = Sample::default();
        tadpole("eval {} --iteration 0 --split unseen_templates --samples 8 --greedy", &run, &engine)
            .unwrap();
        let asked = engine.asked.borrow().join("");
        assert!(asked.contains("UnseenTemplates") && asked.contains("pass_at: [1, 2, 4, 8]"), "{asked}");
        for line in ["eval {} --split train", "eval {} --tasks 0", "eval {} --split elsewhere"] {
            assert_eq!(tadpole(line, &run, &engine).expect_err(line).kind(), Kind::Usage);
        }
    }
}
