//! `tadpole show`: a run, or one thing in it.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::arguments::whole;
use crate::engine::{Engine, Subject};
use crate::failure::Failure;
use crate::{scenario, table};

/// Arguments of `tadpole show`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The run's directory.
    run: PathBuf,
    /// Print the result as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: Option<What>,
}

/// What to show; without it, the run in figures.
#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// A step: its events, a line each.
    Step {
        /// Its number, from 0.
        #[arg(value_parser = whole, allow_negative_numbers = true)]
        step: u64,
    },
    /// An event by its sequence number.
    Event {
        /// Its sequence number, from 0.
        #[arg(value_parser = whole, allow_negative_numbers = true)]
        sequence: u64,
    },
    /// A task or candidate by its id: statement, fault, tests, every look at it.
    Task {
        /// Its id.
        #[arg(value_parser = whole, allow_negative_numbers = true)]
        id: u64,
    },
    /// What the world holds after a step: tasks, candidates, trajectories, policies.
    World {
        /// The step, from 0; without it, the last.
        #[arg(value_parser = whole, allow_negative_numbers = true)]
        step: Option<u64>,
    },
    /// A policy by its id: how it was made, what it played, how it was measured.
    Policy {
        /// Its id.
        #[arg(value_parser = whole, allow_negative_numbers = true)]
        id: u64,
    },
    /// A trajectory by its id, turn by turn, down to each token's probabilities, advantage and mask.
    Trajectory {
        /// Its id.
        #[arg(value_parser = whole, allow_negative_numbers = true)]
        id: u64,
        /// Show every token; without it, those that were dropped.
        #[arg(long)]
        tokens: bool,
    },
    /// An update, down to each token's probabilities, advantage and mask.
    Update {
        /// The iteration, from 1.
        #[arg(allow_negative_numbers = true)]
        iteration: u32,
        /// The update, from 0.
        #[arg(allow_negative_numbers = true)]
        update: u32,
        /// Show every token; without it, those that were dropped.
        #[arg(long)]
        tokens: bool,
    },
    /// How the curriculum evolved: funnel, histograms of pass rates, levels, operators.
    Curriculum,
    /// Every measurement on the held-out sets.
    Evaluations,
}

/// Runs the command.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    scenario::existing_run(&options.run)?;
    let subject = match options.what {
        None => return super::run::report(&engine.summary(&options.run)?, &options.run, options.json, out),
        Some(What::Evaluations) => {
            let summary = engine.summary(&options.run)?;
            let evaluations: Vec<_> = summary.evaluations().cloned().collect();
            if options.json {
                return super::json(out, &evaluations);
            }
            write!(out, "{}", table::evaluations(&evaluations))?;
            return Ok(());
        }
        Some(What::Step { step }) => Subject::Step(step),
        Some(What::Event { sequence }) => Subject::Event(sequence),
        Some(What::Task { id }) => Subject::Task(id),
        Some(What::World { step }) => Subject::World(step),
        Some(What::Policy { id }) => Subject::Policy(id),
        Some(What::Trajectory { id, tokens }) => Subject::Trajectory { id, tokens },
        Some(What::Update { iteration, update, tokens }) => Subject::Update { iteration, update, tokens },
        Some(What::Curriculum) => Subject::Curriculum,
    };
    let shown = engine.show(&options.run, &subject)?;
    if options.json {
        return super::json(out, &shown.json);
    }
    writeln!(out, "{}", shown.text.trim_end())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_directory, tadpole};
    use crate::engine::samples::Sample;

    #[test]
    fn each_subject_is_asked_for_and_shown_in_both_forms() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        for (words, subject) in [
            ("step 3", "Step(3)"),
            ("event 12", "Event(12)"),
            ("task 5", "Task(5)"),
            ("world", "World(None)"),
            ("world 3", "World(Some(3))"),
            ("policy 4", "Policy(4)"),
            ("trajectory 9", "Trajectory { id: 9, tokens: false }"),
            ("trajectory 9 --tokens", "Trajectory { id: 9, tokens: true }"),
            ("update 1 3", "Update { iteration: 1, update: 3, tokens: false }"),
            ("curriculum", "Curriculum"),
        ] {
            let engine = Sample::default();
            assert_eq!(tadpole(&format!("show {{}} {words}"), &run, &engine).unwrap(), "shown\n");
            assert_eq!(
                tadpole(&format!("show {{}} {words} --json"), &run, &engine).unwrap(),
                "{\n  \"shown\": true\n}\n"
            );
            assert_eq!(*engine.asked.borrow(), [subject, subject]);
        }
    }

    #[test]
    fn without_a_subject_it_is_the_run_in_figures() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let printed = tadpole("show {} --json", &run, &Sample::default()).unwrap();
        assert!(printed.starts_with("{\n  \"run_id\": \"1f1f"), "{printed}");
        let printed = tadpole("show {} evaluations", &run, &Sample::default()).unwrap();
        assert!(printed.starts_with("set "), "{printed}");
    }
}
