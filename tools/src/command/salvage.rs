//! `tadpole salvage`: save what is sound of a damaged run, as a new one.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::engine::{Engine, SalvageReport};
use crate::failure::Failure;
use crate::{scenario, text};

/// Arguments of `tadpole salvage`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The damaged run's directory. It is read and not changed.
    run: PathBuf,
    /// The new run's directory, which must not exist.
    #[arg(long, value_name = "NEW")]
    out: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    scenario::existing_directory(&options.run)?;
    let new = scenario::absent(options.out.clone(), "choose another (--out NEW), or remove it")?;
    let report = engine.salvage(&options.run, &new)?;
    if options.json {
        return super::json(out, &report);
    }
    let SalvageReport { directory, steps, chain, lost_steps, lost, blobs, answers } = &report;
    let (directory, kept) = (directory.display(), text::counted(*steps, "step"));
    writeln!(out, "saved    {kept}, {blobs} blobs and {answers} answers in {directory}\nchain    {chain}")?;
    if lost.is_empty() {
        writeln!(out, "lost     nothing: the run was sound")?;
        return Ok(());
    }
    writeln!(out, "lost     {}", text::counted(*lost_steps, "step"))?;
    for why in lost {
        writeln!(out, "because  {why}")?;
    }
    writeln!(out, "`tadpole resume {directory}` decides them again")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_directory, tadpole};
    use crate::engine::samples::Sample;
    use crate::failure::Kind;

    #[test]
    fn what_was_saved_and_what_was_lost_is_said() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let printed = tadpole("salvage {} --out {}-new", &run, &Sample::default()).unwrap();
        insta::assert_snapshot!(printed.replace(run.to_str().unwrap(), "RUN"));
    }

    #[test]
    fn nothing_is_overwritten() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let failure = tadpole("salvage {} --out {}", &run, &Sample::default()).expect_err("exists");
        assert_eq!(failure.kind(), Kind::Usage);
    }
}
