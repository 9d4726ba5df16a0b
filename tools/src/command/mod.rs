//! The commands, one a file: each turns arguments into a request, asks the engine, and renders the answer.

pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod fork;
pub(crate) mod gc;
pub(crate) mod pretrain;
pub(crate) mod replay;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod salvage;
pub(crate) mod shadow;
pub(crate) mod show;
pub(crate) mod step;
pub(crate) mod verify;

use std::io::Write;

use serde::Serialize;

use crate::arguments::Command;
use crate::engine::Engine;
use crate::failure::Failure;

/// Does what `command` says; results go to `out`.
pub(crate) fn dispatch(command: Command, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        Command::Run(options) => run::run(&options, engine, out),
        Command::Resume(options) => resume::run(&options, engine, out),
        Command::Replay(options) => replay::run(&options, engine, out),
        Command::Verify(options) => verify::run(&options, engine, out),
        Command::Diff(options) => diff::run(&options, engine, out),
        Command::Fork(options) => fork::run(&options, engine, out),
        Command::Shadow(options) => shadow::run(&options, engine, out),
        Command::Check(options) => check::run(&options, engine, out),
        Command::Salvage(options) => salvage::run(&options, engine, out),
        Command::Gc(options) => gc::run(&options, engine, out),
        Command::Show(options) => show::run(&options, engine, out),
        Command::Step(options) => step::run(&options, engine),
        Command::Eval(options) => eval::run(&options, engine, out),
        Command::Pretrain(options) => pretrain::run(&options, engine, out),
        Command::Doctor(options) => doctor::run(&options, engine, out),
        Command::Worker => engine.worker(),
    }
}

/// Writes a value as JSON.
fn json(out: &mut dyn Write, value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::failed(format!("cannot write the result as JSON: {error}")))?;
    writeln!(out, "{text}")?;
    Ok(())
}

/// What the tests of the commands share.
#[cfg(test)]
mod testing {
    use std::path::{Path, PathBuf};

    use clap::Parser;

    use super::*;
    use crate::arguments::Arguments;
    use crate::engine::samples::Sample;

    /// A directory that looks like a run's.
    pub(super) fn run_directory(parent: &Path) -> PathBuf {
        let directory = parent.join("run");
        std::fs::create_dir_all(directory.join("log")).unwrap();
        std::fs::write(directory.join("scenario.toml"), "").unwrap();
        directory
    }

    /// What `tadpole LINE` prints, where `{}` stands for `directory`.
    pub(super) fn tadpole(line: &str, directory: &Path, engine: &Sample) -> Result<String, Failure> {
        let mut out = Vec::new();
        dispatch(command(line, directory), engine, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    /// How `tadpole LINE` ends where nobody reads what it prints.
    pub(super) fn unread(line: &str, directory: &Path, engine: &Sample) -> Failure {
        dispatch(command(line, directory), engine, &mut Closed).expect_err("a closed pipe")
    }

    fn command(line: &str, directory: &Path) -> Command {
        let words = line.split_whitespace().map(|word| word.replace("{}", directory.to_str().unwrap()));
        Arguments::try_parse_from(std::iter::once("tadpole".to_owned()).chain(words)).unwrap().command
    }

    /// A pipe whose reader is gone.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
}
