//! `tadpole gc`: remove the blobs that a run does not need.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tadpole_kernel::upkeep::Collection;

use crate::engine::{Engine, GcReport};
use crate::failure::Failure;
use crate::{scenario, text};

/// Arguments of `tadpole gc`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The run's directory.
    run: PathBuf,
    /// Say what would be removed, and remove nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    scenario::existing_run(&options.run)?;
    let collection = if options.dry_run { Collection::Rehearsed } else { Collection::Done };
    let report = engine.gc(&options.run, collection)?;
    if options.json {
        return super::json(out, &report);
    }
    let GcReport { removed, unnamed, superseded, leftovers, bytes, kept } = &report;
    let gone = unnamed.len() + superseded.len() + leftovers.len();
    let (verb, size) = (if *removed { "removed" } else { "would remove" }, text::quantity(*bytes as f64));
    writeln!(out, "{verb} {} of {size}B in all; {kept} blobs stay", text::counted(gone as u64, "file"))?;
    let parts = [(unnamed, "named by no event"), (superseded, "superseded"), (leftovers, "half-written")];
    for (names, why) in parts {
        for name in names {
            writeln!(out, "  {name} ({why})")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_directory, tadpole};
    use crate::engine::samples::Sample;

    #[test]
    fn what_is_removed_or_would_be_is_listed() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let engine = Sample::default();
        let printed = tadpole("gc {} --dry-run", &run, &engine).unwrap();
        assert!(printed.starts_with("would remove 2 files of 4.1kB in all; 7 blobs stay\n"), "{printed}");
        assert!(printed.contains(" (superseded)\n"), "{printed}");
        assert!(tadpole("gc {}", &run, &engine).unwrap().starts_with("removed 2 files"));
        assert_eq!(*engine.asked.borrow(), ["Rehearsed", "Done"]);
    }
}
