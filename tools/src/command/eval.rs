//! `tadpole eval`: measure a policy of a run, outside of its log.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tadpole_scenarios::schema::{HeldOutSet, Override, Scenario};

use crate::arguments::{Speed, whole};
use crate::engine::{Engine, EvalRequest, RecalibrateRequest, SetChoice};
use crate::failure::Failure;
use crate::{scenario, table};

/// Fresh trajectories of each task that is measured again.
const ADMITTED_SAMPLES: u32 = 32;

/// Arguments of `tadpole eval`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The run's directory.
    run: PathBuf,
    /// The iteration whose published policy is measured, 0 for the base; without it, the last. With --admitted, the
    /// iteration whose tasks are measured.
    #[arg(long, value_name = "I", allow_negative_numbers = true)]
    iteration: Option<u32>,
    #[command(flatten)]
    tasks: TaskOptions,
    #[command(flatten)]
    again: AgainOptions,
    #[command(flatten)]
    speed: Speed,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// On what a policy is measured, and how.
#[derive(Args, Debug)]
struct TaskOptions {
    /// A held-out set of the run, played with fresh randomness. Without it, tasks are drawn that the run never met.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["split", "seed", "tasks"])]
    set: Option<String>,
    /// Where tasks are drawn from: `unseen_parameters` (the default) or `unseen_templates`.
    #[arg(long)]
    split: Option<String>,
    /// Seed of the draw; 4 without it.
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Tasks to draw; 240 without it.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    tasks: Option<u32>,
    /// Trajectories a task; 1 without it, 32 with --admitted.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024), allow_negative_numbers = true)]
    samples: Option<u32>,
    /// Sampling temperature; 0.6 without it.
    #[arg(long, value_name = "T", value_parser = temperature, allow_negative_numbers = true)]
    temperature: Option<f32>,
    /// Measure greedily as well.
    #[arg(long)]
    greedy: bool,
}

/// Measuring tasks of the run again.
#[derive(Args, Debug)]
struct AgainOptions {
    /// Measure the tasks that an iteration admitted in band again, by the policy version that calibrated them.
    #[arg(long, conflicts_with_all = ["set", "split", "seed", "tasks", "temperature", "greedy"])]
    admitted: bool,
    /// With --admitted: measure both ends of every refinement as well, which tells how far it moved pass rates without
    /// the bias of having been chosen.
    #[arg(long, requires = "admitted")]
    refined: bool,
}

fn temperature(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(temperature) if (0.0..=10.0).contains(&temperature) => Ok(temperature),
        _ => Err(format!("{text} is no temperature between 0 and 10")),
    }
}

/// Runs the command.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    scenario::existing_run(&options.run)?;
    if options.again.admitted {
        return admitted(options, engine, out);
    }
    let &TaskOptions { ref set, samples, temperature, greedy, .. } = &options.tasks;
    let set = match set.clone() {
        None => SetChoice::Drawn(drawn(&options.tasks)?),
        Some(name) => SetChoice::OfRun { name, samples, temperature, greedy },
    };
    let request = EvalRequest {
        run: options.run.clone(),
        iteration: options.iteration,
        set,
        speed: options.speed.clone(),
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

fn admitted(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    let iteration = options.iteration.filter(|iteration| *iteration > 0).ok_or_else(|| {
        Failure::usage("--admitted needs an iteration").help("say which with --iteration, from 1")
    })?;
    let request = RecalibrateRequest {
        run: options.run.clone(),
        iteration,
        samples: options.tasks.samples.unwrap_or(ADMITTED_SAMPLES),
        refined: options.again.refined,
        speed: options.speed.clone(),
    };
    let progress = super::run::progress();
    let measured = engine.recalibrate(&request, &progress)?;
    drop(progress);
    if options.json {
        return super::json(out, &measured);
    }
    write!(out, "{}", table::recalibration(&measured))?;
    Ok(())
}

/// The set to draw, checked as one of a scenario is.
fn drawn(options: &TaskOptions) -> Result<HeldOutSet, Failure> {
    let samples = options.samples.unwrap_or(1);
    let pass_at: Vec<String> =
        [1, 2, 4, 8, 16, 32, 64].iter().filter(|k| **k <= samples).map(ToString::to_string).collect();
    let overrides = [
        ("name", "drawn".to_owned()),
        ("split", options.split.clone().unwrap_or_else(|| "unseen_parameters".to_owned())),
        ("seed", options.seed.unwrap_or(4).to_string()),
        ("tasks", options.tasks.unwrap_or(240).to_string()),
        ("samples", samples.to_string()),
        ("temperature", format!("{:?}", options.temperature.unwrap_or(0.6))),
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
    fn a_set_that_is_drawn_is_checked_as_one_of_a_scenario_is() {
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

    #[test]
    fn a_set_of_the_run_is_named() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let engine = Sample::default();
        tadpole("eval {} --set final --samples 32", &run, &engine).unwrap();
        let asked = engine.asked.borrow().join("");
        assert!(asked.contains("OfRun { name: \"final\", samples: Some(32)"), "{asked}");
    }

    #[test]
    fn admitted_tasks_are_measured_again() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let engine = Sample::default();
        insta::assert_snapshot!(
            tadpole("eval {} --admitted --iteration 1 --refined", &run, &engine).unwrap()
        );
        assert_eq!(*engine.asked.borrow(), ["(1, 32, true)"]);
        assert_eq!(tadpole("eval {} --admitted", &run, &engine).expect_err("which?").kind(), Kind::Usage);
    }
}
