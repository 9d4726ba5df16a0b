//! `tadpole step`: steps through a run on the terminal.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;

use crate::engine::Engine;
use crate::failure::Failure;
use crate::{scenario, stepper};

/// Arguments of `tadpole step`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The run's directory; it may still be growing.
    run: PathBuf,
}

/// Runs the command.
pub(crate) fn run(options: &Options, engine: &dyn Engine) -> Result<(), Failure> {
    scenario::existing_run(&options.run)?;
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        let help = format!(
            "`tadpole show {0} step N` and `tadpole show {0} world N` print the same without one",
            options.run.display()
        );
        return Err(Failure::usage("stepping through a run needs a terminal").help(help));
    }
    stepper::run(engine.open(&options.run)?.as_mut())
}
