//! Tasks from a process outside: one JSON request on its standard input, one JSON answer on its standard output.
//!
//! Answers are effects. Each is checked, then stored, then used; replay, verification and resumption are served from the
//! store and start no process.
//!
//! ```text
//! {"request": "generate", "seed": 1, "iteration": 1, "index": 0}
//! {"request": "refine", "seed": 7, "stratum": "s3", "level": 3, ..., "direction": "easier"}
//!
//! {"statement": "...", "files": {"a.py": "..."}, "gold": {"a.py": "..."}, "tests": {"test_a.py": "..."},
//!  "seed": 7, "stratum": "s3", "level": 3, "operators": ["off_by_one"], "templates": [], "functions": 1, "modules": 1}
//! null                                                     (to "refine": nothing is left to move)
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tadpole_kernel::decide::{Context, DecideError};
use tadpole_kernel::draws::DrawCount;
use tadpole_kernel::event::{Direction, Origin};
use tadpole_scenarios::repository::{PathError, Tree};

use super::program::{ProcessError, Program};
use super::{Answered, Draw, Generator, Made, Means};

/// The generator's name in events, and the kind of its effects.
const KIND: &str = "generator";

/// A process that makes tasks.
#[derive(Clone, Debug)]
pub struct Process(Program);

#[derive(Serialize)]
#[serde(tag = "request", rename_all = "snake_case")]
enum Request<'a> {
    Generate {
        seed: u64,
        iteration: u32,
        index: u32,
    },
    Refine {
        #[serde(flatten)]
        origin: &'a Origin,
        direction: &'static str,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    statement: String,
    files: BTreeMap<String, String>,
    gold: BTreeMap<String, String>,
    tests: BTreeMap<String, String>,
    seed: u64,
    stratum: String,
    level: u8,
    operators: Vec<String>,
    templates: Vec<String>,
    #[serde(default)]
    faults: Vec<u32>,
    functions: u32,
    modules: u32,
}

impl Generator for Process {
    fn generate(&self, draw: Draw, means: &Means<'_>) -> Result<Answered<Made>, DecideError> {
        let Draw { seed, iteration, index } = draw;
        self.serve(&Request::Generate { seed, iteration: iteration.0, index }, means, Self::task)
    }

    fn refine(
        &self,
        origin: &Origin,
        direction: Direction,
        means: &Means<'_>,
    ) -> Result<Answered<Option<Made>>, DecideError> {
        let direction = match direction {
            Direction::Easier => "easier",
            Direction::Harder => "harder",
        };
        self.serve(&Request::Refine { origin, direction }, means, Self::task_or_null)
    }
}

impl Process {
    /// The process that `command` starts: a program and its arguments. A relative program is looked up in `base` first, then
    /// in the search path. `None` for an empty command.
    #[must_use]
    pub fn new(command: &[String], base: &Path) -> Option<Self> {
        Program::new(command, base).map(Self)
    }

    /// The answer to a request, recorded or asked for, as `read` understands it.
    fn serve<T>(
        &self,
        request: &Request<'_>,
        means: &Means<'_>,
        read: fn(&Self, &[u8]) -> Result<T, ProcessError>,
    ) -> Result<Answered<T>, DecideError> {
        let request = serde_json::to_vec(request).context("spelling a request to the generator")?;
        let checked = || {
            let answer = self.0.ask(&request)?;
            // What is stored is served for ever: an answer that makes no sense must not be.
            read(self, &answer)?;
            Ok::<_, ProcessError>(answer)
        };
        let served = means.effects.serve(KIND, &request, checked).context("asking the generator")?;
        let answer = read(self, &served.bytes).context("reading the generator's answer")?;
        Ok(Answered { answer, effects: vec![served.event] })
    }

    fn task_or_null(&self, answer: &[u8]) -> Result<Option<Made>, ProcessError> {
        let refuse = |error: serde_json::Error| self.refused(error.to_string());
        let answer: Option<Answer> = serde_json::from_slice(answer).map_err(refuse)?;
        answer.map(|answer| self.made(answer)).transpose()
    }

    fn task(&self, answer: &[u8]) -> Result<Made, ProcessError> {
        self.task_or_null(answer)?.ok_or_else(|| self.refused("null answers a refinement only".to_owned()))
    }

    fn made(&self, answer: Answer) -> Result<Made, ProcessError> {
        let tree =
            |files| Tree::from_files(files).map_err(|error: PathError| self.refused(error.to_string()));
        Ok(Made {
            snapshot: tree(answer.files)?,
            gold: tree(answer.gold)?,
            hidden: tree(answer.tests)?,
            origin: Origin {
                generator: KIND.to_owned(),
                seed: answer.seed,
                stratum: answer.stratum,
                level: answer.level,
                operators: answer.operators,
                templates: answer.templates,
                faults: answer.faults,
                functions: answer.functions,
                modules: answer.modules,
            },
            attempt: 0,
            statement: answer.statement,
            draws: DrawCount::default(),
        })
    }

    fn refused(&self, reason: String) -> ProcessError {
        ProcessError::Answer { program: self.0.name(), reason }
    }
}
