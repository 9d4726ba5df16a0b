//! Problem statements: what the policy is told, at five levels of localisation.

mod symptom;

use symptom::{error_name, symptom};

use super::blueprint::Blueprint;
use super::project::{Fault, Project};
use crate::draws::{Draws, SeedDraws};

/// Longest literal that a statement shows, in characters; longer ones are cut.
const LITERAL_MAX: usize = 48;

/// What a call did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It gave a value, as a literal.
    Value(String),
    /// It raised an error, e.g. `IndexError: list index out of range`.
    Error(String),
    /// It was stopped by a limit.
    Endless,
}

/// A call that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The call, e.g. `count_rows([1, 2])`.
    pub call: String,
    /// What it must give, as a literal.
    pub expected: String,
    /// What it did instead.
    pub outcome: Outcome,
}

/// What there is to say about one bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BugFacts {
    /// Path of the file.
    pub path: String,
    /// Name of the function.
    pub function: String,
    /// What the function is about, without its name.
    pub topic: String,
    /// The faulty line; `None` where lines were left out.
    pub line: Option<String>,
    /// The line before it.
    pub previous: String,
    /// A call that goes wrong.
    pub example: Example,
}

/// What there is to say about a task: its bugs, one or two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementFacts {
    /// The bugs, in the order in which they are told.
    pub bugs: Vec<BugFacts>,
}

impl BugFacts {
    /// What there is to say about a fault that shows in `example`.
    #[must_use]
    pub fn new(project: &Project, fault: &Fault, example: Example) -> Self {
        let function = project.functions.get(fault.function);
        Self {
            path: fault.path.clone(),
            function: function.map(|function| function.name.clone()).unwrap_or_default(),
            topic: function.map(|function| function.topic.clone()).unwrap_or_default(),
            line: fault.mutant.after.clone(),
            previous: fault.mutant.previous.clone(),
            example,
        }
    }
}

/// The example that takes the fewest characters to tell; the first of several.
#[must_use]
pub fn shortest(examples: &[Example]) -> Option<&Example> {
    let length = |example: &&Example| {
        let outcome = match &example.outcome {
            Outcome::Value(text) | Outcome::Error(text) => text.len(),
            Outcome::Endless => LITERAL_MAX,
        };
        example.call.len() + example.expected.len() + outcome
    };
    examples.iter().min_by_key(length)
}

impl Blueprint {
    /// The statement of this blueprint's task, in a phrasing that follows from its seed and level.
    #[must_use]
    pub fn statement(&self, facts: &StatementFacts) -> String {
        let mut draws = SeedDraws::new(self.seed, &format!("statement {}", self.level));
        statement(self.level, facts, &mut draws)
    }
}

/// A statement of the given level: 0 quotes the faulty line and names file and function; 1 names both and gives an
/// example; 2 names the function and the symptom; 3 the file and the symptom; 4 and beyond what goes wrong, without
/// names.
pub fn statement(level: u8, facts: &StatementFacts, draws: &mut dyn Draws) -> String {
    let mut sentences: Vec<String> = Vec::new();
    if facts.bugs.len() > 1 {
        let opening = ["There are two bugs.", "Two things are wrong.", "Please mend two bugs."];
        sentences.push(opening[draws.index(opening.len())].to_owned());
    }
    for bug in &facts.bugs {
        let phrasings = match level {
            0 => quoting(bug),
            1 => by_example(bug),
            2 => naming_function(bug),
            3 => naming_file(bug),
            _ => by_symptom(bug),
        };
        sentences.push(phrasings[draws.index(phrasings.len())].clone());
    }
    sentences.join(" ")
}

fn quoting(bug: &BugFacts) -> [String; 3] {
    let BugFacts { path, function, line, previous, .. } = bug;
    match line {
        Some(line) => [
            format!("The line `{line}` of {function} in {path} is wrong."),
            format!("{function} in {path} has a bug in the line `{line}`."),
            format!("In {path}, `{line}` in {function} is a mistake."),
        ],
        // Nothing but the docstring is above: too long to quote, and the place is plain.
        None if previous.ends_with("\"\"\"") || previous.starts_with("def ") => [
            format!("Code is missing at the start of {function} in {path}."),
            format!("{function} in {path} lacks something at its start."),
            format!("In {path}, the first lines of {function} are missing."),
        ],
        None => [
            format!("In {function} in {path}, code is missing after the line `{previous}`."),
            format!("{function} in {path} lacks something after `{previous}`."),
            format!("In {path}, {function} has a gap after the line `{previous}`."),
        ],
    }
}

fn by_example(bug: &BugFacts) -> [String; 3] {
    let BugFacts { path, function, example, .. } = bug;
    let (call, expected) = (cut(&example.call), cut(&example.expected));
    let does = match &example.outcome {
        Outcome::Value(got) => format!("gives {}", cut(got)),
        Outcome::Error(error) => format!("fails with {}", error_name(error)),
        Outcome::Endless => "never ends".to_owned(),
    };
    [
        format!("In {path}, {call} {does}, but should give {expected}."),
        format!("{function} in {path} is wrong: {call} should give {expected}, but {does}."),
        format!("{call} in {path} {does}. It should give {expected}."),
    ]
}

fn naming_function(bug: &BugFacts) -> [String; 3] {
    let BugFacts { function, example, .. } = bug;
    let symptom = symptom(example);
    [
        format!("{function} sometimes {symptom}."),
        format!("Please mend {function}: it {symptom}."),
        format!("There is a bug in {function}. It {symptom}."),
    ]
}

fn naming_file(bug: &BugFacts) -> [String; 3] {
    let BugFacts { path, example, .. } = bug;
    let symptom = symptom(example);
    [
        format!("There is a bug in {path}: a function {symptom}."),
        format!("Something in {path} {symptom}."),
        format!("A function of {path} is broken: it {symptom}."),
    ]
}

fn by_symptom(bug: &BugFacts) -> [String; 3] {
    let BugFacts { topic, example, .. } = bug;
    let expected = cut(&example.expected);
    let seen = match &example.outcome {
        Outcome::Value(got) => format!("{} instead of {expected}", cut(got)),
        Outcome::Error(error) => format!("{} instead of {expected}", error_name(error)),
        Outcome::Endless => format!("no end instead of {expected}"),
    };
    let mut letters = topic.chars();
    let capital: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    [
        format!("There is a problem with {topic}: we see {seen}."),
        format!("{capital}: something goes wrong, we get {seen}."),
        format!("Users complain about {topic}. They get {seen}."),
    ]
}

/// A literal, cut where it is long.
fn cut(literal: &str) -> String {
    match literal.char_indices().nth(LITERAL_MAX) {
        None => literal.to_owned(),
        Some((at, _)) => format!("{}...", &literal[..at]),
    }
}
