//! `tadpole shadow`: what other admission rules would have made of a run's calibrations.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tadpole_scenarios::schema::Admission;

use crate::engine::Engine;
use crate::failure::Failure;
use crate::{scenario, table};

/// Arguments of `tadpole shadow`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The run's directory.
    run: PathBuf,
    /// A band of pass rates such as "3/8..5/8", "0 < p <= 0.5" or "p = 0.5"; may be given several times.
    #[arg(long = "admission", value_name = "RULE", required = true)]
    admissions: Vec<Admission>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    scenario::existing_run(&options.run)?;
    let report = engine.shadow(&options.run, &options.admissions)?;
    if options.json {
        return super::json(out, &report);
    }
    write!(out, "{}", table::shadow(&report))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_directory, tadpole};
    use crate::engine::samples::Sample;

    #[test]
    fn every_rule_is_asked_for_and_shown_in_both_forms() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let engine = Sample::default();
        let line = "shadow {} --admission 0<p<1 --admission p=0.5";
        let text = tadpole(line, &run, &engine).unwrap();
        assert!(text.starts_with("as recorded"), "{text}");
        let json = tadpole(&format!("{line} --json"), &run, &engine).unwrap();
        assert!(json.contains("\"certain\": false"), "{json}");
        assert_eq!(*engine.asked.borrow(), ["[\"0 < p < 1\", \"p = 1/2\"]"; 2]);
    }
}
