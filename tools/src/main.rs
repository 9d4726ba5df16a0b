//! The `tadpole` command line. Nothing else in the workspace prints or parses arguments.
//!
//! Architecture invariant: no command knows how a run works. Each parses its arguments, asks the [`engine::Engine`], and
//! renders what it is told; so every command is tested against made-up answers.

#![deny(clippy::print_stderr, clippy::print_stdout)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking"))]

mod arguments;
mod command;
mod engine;
mod failure;
mod progress;
mod scenario;
mod stepper;
mod table;
mod text;

use std::process::ExitCode;

use clap::Parser;
use tadpole_systems::sandbox::memory::Counting;

/// Counts in sandbox workers alone, whose programs it bounds.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let arguments = match arguments::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return failure::report_usage(&error),
    };
    match command::dispatch(arguments.command, &engine::Local, &mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
