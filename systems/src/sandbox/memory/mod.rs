//! The `memory` sandbox: bash and Python over a tree in memory, evaluated on one thread.

mod commands;
mod counting;
mod files;
mod output;
mod pytest;
mod python;
mod shell;
mod sources;
mod suite;

#[cfg(test)]
mod tests;

use std::time::Duration;

use tadpole_scenarios::repository::Tree;

use crate::interpreter::{Budget, Fault, Interpreter, Monty};

use super::wire::{Answer, Request};
use super::{Limits, SandboxError};

pub use counting::Counting;
pub(super) use counting::start_counting;
use sources::TreeSources;

/// Where the repository lies in the file system of the shell.
pub const ROOT: &str = "/repo";

/// The stack of an evaluation thread: room for the deepest syntax tree that the interpreter accepts.
const STACK_BYTES: usize = 256 << 20;

/// A builder of threads with the stack that evaluation needs.
pub(super) fn thread(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES)
}

/// The answer to a request, both as bytes. Nothing is kept from one request to the next.
pub(super) fn answer(request: &[u8]) -> Result<Vec<u8>, SandboxError> {
    let answer = match Request::decode(request)? {
        Request::Bash(tree, command, limits) => Answer::Bash(shell::run(&tree, &command, &limits)),
        Request::Test(tree, files, limits) => Answer::Test(test(&tree, &files, &limits)),
        Request::Evaluate(tree, module, expressions, limits) => {
            Answer::Evaluate(evaluate(&tree, &module, &expressions, &limits))
        }
    };
    Ok(answer.encode())
}

/// The budget of one Python run within `limits`.
fn budget(limits: &Limits) -> Budget {
    Budget {
        fuel: limits.fuel,
        memory_bytes: usize::try_from(limits.memory_bytes).unwrap_or(usize::MAX),
        output_bytes: usize::try_from(limits.output_bytes).unwrap_or(usize::MAX),
        wall: Duration::from_millis(limits.wall_ms),
        ..Budget::default()
    }
}

/// Where modules are searched: beside the file that starts, and from the root.
fn search(directory: &str) -> Vec<String> {
    let mut search = vec![directory.to_owned(), String::new(), "src".to_owned()];
    search.dedup();
    search
}

fn test(tree: &Tree, files: &[String], limits: &Limits) -> super::TestReport {
    let sources = TreeSources::new(tree);
    let mut suite = suite::Suite::new(&Monty, &sources, budget(limits));
    for file in files {
        suite.run_file(file, &suite::Selection::default());
    }
    suite.into_report()
}

fn evaluate(
    tree: &Tree,
    module: &str,
    expressions: &[String],
    limits: &Limits,
) -> Vec<Result<String, String>> {
    let sources = TreeSources::new(tree);
    let mut session = Monty.session(&sources, &search(""), budget(limits));
    let path = if module.is_empty() { None } else { session.find(module) };
    if !module.is_empty() && path.is_none() {
        let message = format!("ModuleNotFoundError: No module named '{module}'");
        return expressions.iter().map(|_| Err(message.clone())).collect();
    }
    let mut is_loaded = path.is_none();
    let mut values = Vec::with_capacity(expressions.len());
    for expression in expressions {
        let mut value = Ok(());
        if !is_loaded && let Some(path) = &path {
            value = session.load(path);
            is_loaded = true;
        }
        let value = value.and_then(|()| session.evaluate(path.as_deref(), expression));
        if let Err(Fault::Stopped(_)) = value {
            session.reset();
            is_loaded = path.is_none();
        }
        values.push(value.map_err(|fault| fault.summary()));
    }
    values
}
