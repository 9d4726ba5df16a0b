//! Runs test files: each loaded once, each test with a fresh budget.

use crate::interpreter::{Budget, Fault, Interpreter, Session, Sources, TestFunction};
use crate::sandbox::{TestReport, TestStatus, Verdict};

use super::search;

/// Begins the message of an exception that means "skip".
pub(super) const SKIP_MARK: &str = "<pytest.skip>";

/// Which tests of a file to run, and when to stop.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    /// Names (`f`, `C`, `C::m`) of which one must match; empty for all.
    pub(super) names: Vec<String>,
    /// A `-k` expression: the tests to keep.
    pub(super) keyword: Option<Keyword>,
    /// The number of tests that may fail before the run stops; 0 for no limit.
    pub(super) failures_max: usize,
}

impl Selection {
    fn takes(&self, id: &str, name: &str) -> bool {
        let named = self.names.is_empty()
            || self.names.iter().any(|wanted| {
                name == wanted
                    || name.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.starts_with("::"))
            });
        named && self.keyword.as_ref().is_none_or(|keyword| keyword.takes(id))
    }
}

/// A `-k` expression in disjunctive form: `a and not b or c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keyword {
    alternatives: Vec<Vec<(bool, String)>>,
}

impl Keyword {
    /// Parses an expression without parentheses.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut alternatives = vec![Vec::new()];
        let mut wants_word = true;
        let mut positive = true;
        for word in text.split_whitespace() {
            match (word, wants_word) {
                ("not", true) => positive = !positive,
                ("or", false) => {
                    alternatives.push(Vec::new());
                    wants_word = true;
                }
                ("and", false) => wants_word = true,
                ("and" | "or", true) | (_, false) => return None,
                (word, true) => {
                    alternatives.last_mut()?.push((positive, word.to_lowercase()));
                    positive = true;
                    wants_word = false;
                }
            }
        }
        (!wants_word).then_some(Self { alternatives })
    }

    fn takes(&self, id: &str) -> bool {
        let id = id.to_lowercase();
        self.alternatives
            .iter()
            .any(|all| all.iter().all(|(positive, word)| id.contains(word.as_str()) == *positive))
    }
}

/// One test that did not pass, with what there is to say of it.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// Its id.
    pub(super) id: String,
    /// How it failed.
    pub(super) fault: Fault,
    /// What it printed.
    pub(super) output: Vec<u8>,
    /// Whether it could not run at all.
    pub(super) is_error: bool,
}

/// Test files being run in one session.
pub(super) struct Suite<'a> {
    session: Box<dyn Session + 'a>,
    report: TestReport,
    failures: Vec<Failure>,
    /// How many of the selected file's tests were not selected.
    deselected: usize,
}

impl<'a> Suite<'a> {
    /// An empty suite over `sources`.
    pub(super) fn new(interpreter: &dyn Interpreter, sources: &'a dyn Sources, budget: Budget) -> Self {
        Self {
            session: interpreter.session(sources, &search(""), budget),
            report: TestReport::default(),
            failures: Vec::new(),
            deselected: 0,
        }
    }

    /// Loads a file without running it; what is wrong with it is noted.
    pub(super) fn load_file(&mut self, path: &str) -> bool {
        match self.session.load(path) {
            Ok(()) => true,
            Err(fault) => {
                self.note_stop(&fault);
                self.session.take_output();
                self.error(path.to_owned(), fault);
                false
            }
        }
    }

    /// Runs the selected tests of a file; `false` if the run should stop.
    pub(super) fn run_file(&mut self, path: &str, selection: &Selection) -> bool {
        if !self.load_file(path) {
            return true;
        }
        for test in self.session.tests(path) {
            let id = format!("{path}::{}", test.name);
            if !selection.takes(&id, &test.name) {
                self.deselected += 1;
                continue;
            }
            self.run_test(path, id, &test);
            if selection.failures_max > 0 && self.failures.len() >= selection.failures_max {
                return false;
            }
        }
        true
    }

    fn run_test(&mut self, path: &str, id: String, test: &TestFunction) {
        if let Some(fixture) = test.fixtures.first() {
            self.error(id, Fault::raised("Error", format!("fixture '{fixture}' not found")));
            return;
        }
        // After a stop the session is empty: the file is loaded again.
        if let Err(fault) = self.session.load(path) {
            self.note_stop(&fault);
            self.error(id, fault);
            return;
        }
        self.session.take_output();
        let result = self.session.call_test(path, test);
        let output = self.session.take_output();
        let status = match result {
            Ok(()) => TestStatus::Passed,
            Err(Fault::Raised(raised)) if raised.message.starts_with(SKIP_MARK) => TestStatus::Skipped,
            Err(fault) => {
                self.note_stop(&fault);
                let message = message_of(&fault);
                self.failures.push(Failure { id: id.clone(), fault, output, is_error: false });
                TestStatus::Failed { message }
            }
        };
        self.report.tests.push((id, status));
    }

    fn error(&mut self, id: String, fault: Fault) {
        self.report.tests.push((id.clone(), TestStatus::Error { message: message_of(&fault) }));
        self.failures.push(Failure { id, fault, output: Vec::new(), is_error: true });
    }

    fn note_stop(&mut self, fault: &Fault) {
        if let Fault::Stopped(stop) = fault {
            self.report.verdict = self.report.verdict.max(Verdict::from(*stop));
            self.session.reset();
        }
    }

    /// What did not pass, in order.
    pub(super) fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// The report so far.
    pub(super) fn report(&self) -> &TestReport {
        &self.report
    }

    /// How many tests were not selected.
    pub(super) fn deselected(&self) -> usize {
        self.deselected
    }

    /// The report.
    pub(super) fn into_report(self) -> TestReport {
        self.report
    }
}

/// What to say of a failure in one or two lines: an assertion with its values, or the exception.
pub(super) fn message_of(fault: &Fault) -> String {
    match fault {
        Fault::Raised(raised) if raised.kind == "AssertionError" && !raised.message.is_empty() => {
            raised.message.clone()
        }
        other => other.summary(),
    }
}
