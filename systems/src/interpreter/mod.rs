//! Running Python without a process: one trait, so that the interpreter can be exchanged, and one implementation.
//!
//! A [`Session`] holds one repository's program: modules are loaded on first import, each in its own name space, and
//! then expressions, test functions and scripts run against them. Every run ends in a value, in a Python exception or in
//! a typed [`Stop`]; nothing the program does can end the caller, short of an abort of the process, which is why untrusted
//! programs run in worker processes ([`crate::sandbox`]).
//!
//! What a program can observe is a function of its sources alone: there is no clock, no file system, no environment, no
//! hash seed, no address. What it may spend is counted, not timed: see [`Budget`].

mod fault;
mod linker;
mod modules;
mod monty;
mod names;
mod session;

#[cfg(test)]
mod tests;

pub use fault::{Fault, Frame, Raised, Stop};
pub use modules::Sources;
pub use monty::Monty;

use std::time::Duration;

/// What one run may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Instructions, in units of 256.
    pub fuel: u64,
    /// Bytes that the program may hold beyond what the process held before it started.
    ///
    /// Checked before every large result everywhere; the running total is counted only where the process installed
    /// [`crate::sandbox::memory::Counting`].
    pub memory_bytes: usize,
    /// Bytes of printed text kept; what is printed beyond them is dropped.
    pub output_bytes: usize,
    /// Depth of calls.
    pub recursion: usize,
    /// The wall-clock watchdog, for native loops that count no instructions. Far above what any counted program takes.
    pub wall: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            fuel: 20_000,
            memory_bytes: 4 << 20,
            output_bytes: 64 << 10,
            recursion: 1_000,
            wall: Duration::from_secs(20),
        }
    }
}

/// A test function found in a module, in the order of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFunction {
    /// `test_f`, or `TestC::test_m` for a method.
    pub name: String,
    /// The line of its `def`, from 1.
    pub line: u32,
    /// Parameters without a default beyond `self`, unless a decorator may give them: fixtures, which are not supported.
    pub fixtures: Vec<String>,
}

/// An interpreter: makes sessions.
pub trait Interpreter: Send + Sync {
    /// Starts an empty session over the files of `sources`.
    ///
    /// Modules are searched in `search`, directories relative to the root of `sources` (`""` is the root), in order.
    fn session<'a>(
        &self,
        sources: &'a dyn Sources,
        search: &[String],
        budget: Budget,
    ) -> Box<dyn Session + 'a>;
}

/// A program being run. After a [`Fault::Stopped`] the session is spent: [`Session::reset`] starts it afresh.
pub trait Session {
    /// The path of the file that `import name` would load.
    fn find(&self, name: &str) -> Option<String>;

    /// Loads the file at `path` as a module, its imports first. Loading it again does nothing.
    fn load(&mut self, path: &str) -> Result<(), Fault>;

    /// The test functions of a loaded module.
    fn tests(&self, path: &str) -> Vec<TestFunction>;

    /// Calls one test function of a loaded module with a fresh budget.
    fn call_test(&mut self, path: &str, test: &TestFunction) -> Result<(), Fault>;

    /// Evaluates an expression in the name space of a loaded module (or in an empty one) and returns its `repr`.
    fn evaluate(&mut self, path: Option<&str>, expression: &str) -> Result<String, Fault>;

    /// Runs a program text as `__main__`; `shown` is the file name that tracebacks give.
    fn run_main(&mut self, shown: &str, source: &[u8], arguments: &[String]) -> Result<(), Fault>;

    /// Takes what the program printed since the last call.
    fn take_output(&mut self) -> Vec<u8>;

    /// Forgets everything loaded, and starts again with a fresh budget.
    fn reset(&mut self);
}
