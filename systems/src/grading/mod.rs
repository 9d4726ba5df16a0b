//! What an episode was worth: hidden tests over the final tree, by rules that no agent and no broken machine can bend.
//!
//! Grading restores every file that decides how tests run, lays the hidden tests over the repository and asks the sandbox
//! for a report of its own. Nothing that an agent wrote (a reward file, an exit code, a log) is evidence.
//!
//! Four facts of a trajectory are independent of one another: the grade, whether tests really ran, whether restored files
//! were tampered with, and whether something hidden was seen.

mod leak;
mod outside;
mod restore;
mod reward;
mod rules;

pub use leak::leaked;
pub use outside::{Judged, Tally, judge};
pub use restore::{Restored, restore};
pub use reward::{raw_reward, shaped_reward};
pub use rules::{Outcome, outcome};
pub use tadpole_kernel::event::{Exit, Facts, Grade};

use std::collections::BTreeSet;

use tadpole_scenarios::repository::Tree;

use crate::sandbox::{Limits, Sandbox, TestReport, Verdict};

/// What a final tree is graded against.
#[derive(Clone, Copy, Debug)]
pub struct Hidden<'a> {
    /// The repository as the episode began.
    pub base: &'a Tree,
    /// The hidden tests, laid over the repository.
    pub tests: &'a Tree,
    /// The files that the gold patch rewrites: they are never restored, whatever their name.
    pub gold: &'a Tree,
    /// Tests that gold turns from failing to passing, as `path::name`.
    pub fail_to_pass: &'a [String],
    /// Tests that pass before and after gold.
    pub pass_to_pass: &'a [String],
}

/// A task that cannot be graded by anyone.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum GradeError {
    /// F2P is empty: every tree would pass.
    #[error("F2P is empty: every patch would resolve the task; refuse it where it is imported or generated")]
    EmptyFailToPass,
    /// A test id names no file of the hidden tests or the repository.
    #[error("test {id} lies in {file}, which neither the hidden tests nor the repository hold")]
    NoSuchFile {
        /// The id.
        id: String,
        /// The file it names.
        file: String,
    },
}

/// A grade and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graded {
    /// What the hidden tests say.
    pub grade: Grade,
    /// Whether the agent changed a file that grading restores.
    pub tampered: bool,
    /// Tests of F2P and P2P that did not do what they must, in their order.
    pub failing: Vec<String>,
    /// The report; empty where the sandbox failed.
    pub report: TestReport,
    /// Why there is no report.
    pub fault: Option<String>,
}

impl Graded {
    /// The four facts.
    pub fn facts(&self, ran_tests: bool, leaked: bool) -> Facts {
        Facts { grade: self.grade, ran_tests, tampered: self.tampered, leaked }
    }
}

/// Times that a failing sandbox is asked before the grade is [`Grade::Infra`].
const ATTEMPTS: u32 = 2;

/// Refuses what cannot be graded. To be asked once where a task is imported or generated; [`grade`] asks again.
pub fn check(hidden: &Hidden<'_>) -> Result<(), GradeError> {
    if hidden.fail_to_pass.is_empty() {
        return Err(GradeError::EmptyFailToPass);
    }
    let known = |file: &str| [hidden.tests, hidden.base].iter().any(|tree| tree.contains(file));
    match hidden.fail_to_pass.iter().chain(hidden.pass_to_pass).find(|id| !known(file_of(id))) {
        Some(id) => Err(GradeError::NoSuchFile { id: id.clone(), file: file_of(id).to_owned() }),
        None => Ok(()),
    }
}

/// Grades `now`, the tree that an episode ended with.
pub fn grade(
    hidden: &Hidden<'_>,
    now: &Tree,
    sandbox: &dyn Sandbox,
    limits: &Limits,
) -> Result<Graded, GradeError> {
    check(hidden)?;
    let Restored { tree, tampered } = restore(hidden, now);
    let files: BTreeSet<&str> =
        hidden.fail_to_pass.iter().chain(hidden.pass_to_pass).map(|id| file_of(id)).collect();
    let files: Vec<String> = files.into_iter().map(str::to_owned).collect();
    let report =
        outside::attempt(ATTEMPTS, || sandbox.test(&tree, &files, limits).map_err(|fault| fault.to_string()));
    Ok(match report {
        Ok((report, _)) => {
            let Outcome { failing } = outcome(hidden.fail_to_pass, hidden.pass_to_pass, &report);
            Graded {
                grade: graded(report.verdict, failing.is_empty()),
                tampered,
                failing,
                report,
                fault: None,
            }
        }
        Err(fault) => Graded {
            grade: Grade::Infra,
            tampered,
            failing: Vec::new(),
            report: TestReport::default(),
            fault: Some(fault),
        },
    })
}

/// A run that was stopped is never a pass, whatever its tests say.
fn graded(verdict: Verdict, resolved: bool) -> Grade {
    match verdict {
        Verdict::Completed if resolved => Grade::Resolved,
        Verdict::Completed => Grade::Unresolved,
        Verdict::OutOfFuel | Verdict::OutOfMemory => Grade::Exhausted,
        Verdict::Watchdog => Grade::Watchdog,
        Verdict::Aborted => Grade::Aborted,
    }
}

/// The file of a test id.
fn file_of(id: &str) -> &str {
    id.split_once("::").map_or(id, |(file, _)| file)
}
