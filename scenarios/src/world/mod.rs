//! The embedded world: small Python projects made from templates, faults injected into them, and words about both.
//!
//! The way to a task: [`Blueprint::draw`], [`Blueprint::project`], [`Project::faults`] tried in turn until one is
//! valid, [`test_file`] for what is visible and what is hidden, [`Blueprint::statement`].

mod blueprint;
mod cases;
mod mutation;
mod normal;
mod project;
mod spec;
mod split;
mod statement;
mod template;

pub use blueprint::{Blueprint, Direction};
pub use cases::{TestCase, test_file, test_name, test_path};
pub use mutation::{Mutant, MutationError, Operator, PythonSource, mutants, preference};
pub use normal::normalised;
pub use project::{Fault, FaultedProject, Faults, Function, Project, WorldError};
pub use spec::{BUGS_MAX, CASES_MAX, FUNCTIONS_MAX, LEVELS, MODULES_MAX, SpecError, Stratum, WorldSpec};
pub use split::Split;
pub use statement::{BugFacts, Example, Outcome, StatementFacts, shortest, statement};
