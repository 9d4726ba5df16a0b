//! `tadpole resume`: go on with a run that was interrupted.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::arguments::Speed;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::scenario;

/// Arguments of `tadpole resume`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The run's directory.
    run: PathBuf,
    #[command(flatten)]
    speed: Speed,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    scenario::existing_run(&options.run)?;
    let progress = super::run::progress();
    let summary = engine.resume(&options.run, &options.speed, &progress)?;
    drop(progress);
    super::run::report(&summary, &options.run, options.json, out)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_directory, tadpole};
    use crate::engine::samples::Sample;
    use crate::failure::Kind;

    #[test]
    fn only_a_run_is_resumed() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let engine = Sample::default();
        assert!(tadpole("resume {} --threads 3 --device cpu", &run, &engine).unwrap().contains("412 steps"));
        assert_eq!(*engine.asked.borrow(), [format!("({run:?}, Some(3), Some(\"cpu\"))")]);
        assert_eq!(tadpole("resume {}", parent.path(), &engine).expect_err("no run").kind(), Kind::Usage);
    }
}
