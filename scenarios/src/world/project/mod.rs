//! Projects: a few modules of small functions, and the calls that test them.

mod build;
mod fault;
mod layout;

use thiserror::Error;

pub use fault::{Fault, FaultedProject, Faults};

use super::mutation::MutationError;
use crate::repository::{PathError, Tree};

/// A correct project.
#[derive(Clone, Debug, PartialEq)]
pub struct Project {
    /// Its modules, without tests.
    pub tree: Tree,
    /// Names of its modules, each at `<name>.py`; a module imports from earlier ones only.
    pub modules: Vec<String>,
    /// Its functions by module, in the order of the files.
    pub functions: Vec<Function>,
    /// Indices of the functions that are to carry a bug.
    pub targets: Vec<usize>,
    /// The index of the bug of each of the first of these among its mutants, best first, where that is settled.
    kept: Vec<u32>,
    seed: u64,
    wrong_variable_share: f64,
}

/// A function of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, unique in the project.
    pub name: String,
    /// Name of its module.
    pub module: String,
    /// Line of its `def` in the module's file, from 1.
    pub line: u32,
    /// Name of its template.
    pub template: String,
    /// What it is about in words that do not name it, e.g. `adding up digits`.
    pub topic: String,
    /// Its head, e.g. `count_rows(items)`.
    pub signature: String,
    /// Its docstring: the specification in words.
    pub doc: String,
    /// Its source, ending with a newline.
    pub source: String,
    /// Names of the project's functions that it calls.
    pub uses: Vec<String>,
    /// Calls that the agent's tests make, e.g. `count_rows([1, 2])`.
    pub visible: Vec<String>,
    /// Calls that only grading makes; none of them is visible.
    pub hidden: Vec<String>,
}

impl Function {
    /// Path of its module's file.
    #[must_use]
    pub fn path(&self) -> String {
        layout::path(&self.module)
    }
}

/// Why a project could not be made. None of it happens with the templates shipped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WorldError {
    /// A template does not hold together.
    #[error("template {template}: {reason}")]
    Template {
        /// Its name.
        template: String,
        /// What is wrong.
        reason: String,
    },
    /// Nothing new was drawn in many tries.
    #[error("no further {0} could be drawn")]
    Exhausted(&'static str),
    /// A function has no mutants.
    #[error("function {function}: {error}")]
    Mutation {
        /// Its name.
        function: String,
        /// Why.
        error: MutationError,
    },
    /// A module has a name that no file may have.
    #[error(transparent)]
    Path(#[from] PathError),
}
