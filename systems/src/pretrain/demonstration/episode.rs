//! An expert's turns through the real harness and sandbox.

use super::edit::Edit;
use super::{DemonstrationError, Demonstrator, Script};
use crate::codec::{Piece, ToolCall, spelled};
use crate::harness::{Episode, ModelOutput, TaskView, TurnOutcome};
use tadpole_scenarios::repository::Tree;

/// An episode being played.
pub(super) struct Playing<'a> {
    demonstrator: &'a Demonstrator,
    episode: Box<dyn Episode>,
    script: Script,
    over: bool,
}

/// What a run of the tests showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tested {
    /// All passed.
    Passed,
    /// A test of this function failed first.
    Failed {
        /// The function, as its test's name has it.
        function: String,
    },
    /// The output names no failing test.
    Unclear,
}

impl<'a> Playing<'a> {
    /// Opens an episode.
    pub(super) fn open(demonstrator: &'a Demonstrator, statement: &str, tree: &Tree) -> Self {
        let episode = demonstrator.harness.begin(&TaskView { statement, tree });
        let mut script = Script::default();
        script.shown(episode.opening());
        Self { demonstrator, episode, script, over: false }
    }

    /// Answers. `None` where the episode was over before, or the repository is not what it was to become.
    pub(super) fn answer(mut self, text: &str, mended: &Tree) -> Result<Option<Script>, DemonstrationError> {
        let right = !self.over && self.episode.tree() == mended;
        self.turn(text, &[])?;
        Ok(right.then_some(self.script))
    }

    /// Answers, whatever the repository is.
    pub(super) fn answer_as_it_is(mut self, text: &str) -> Result<Script, DemonstrationError> {
        self.turn(text, &[])?;
        Ok(self.script)
    }

    /// Text of a file as it is now; empty where there is none.
    pub(super) fn source(&self, path: &str) -> &str {
        self.episode.tree().text(path).unwrap_or_default()
    }

    /// Makes an edit; whether it took place.
    pub(super) fn edit(&mut self, path: &str, edit: &Edit) -> Result<bool, DemonstrationError> {
        let arguments = [("file_path", path), ("old_string", &edit.old), ("new_string", &edit.new)];
        let result = self.turn("", &[ToolCall::new("Edit", &arguments)])?;
        Ok(result.starts_with("Edited "))
    }

    /// Runs a command.
    pub(super) fn bash(&mut self, command: &str) -> Result<String, DemonstrationError> {
        self.turn("", &[ToolCall::new("Bash", &[("command", command)])])
    }

    /// Reads a whole file.
    pub(super) fn read(&mut self, path: &str) -> Result<String, DemonstrationError> {
        self.turn("", &[ToolCall::new("Read", &[("file_path", path)])])
    }

    /// Lists the files.
    pub(super) fn list(&mut self) -> Result<String, DemonstrationError> {
        self.turn("", &[ToolCall::new("Glob", &[("pattern", "*.py")])])
    }

    /// Runs the tests up to the first failure.
    pub(super) fn test(&mut self) -> Result<Tested, DemonstrationError> {
        let output = self.bash("pytest -x")?;
        Ok(Tested::of(&output))
    }

    /// Takes a turn; its result, empty where the episode is over.
    fn turn(&mut self, content: &str, calls: &[ToolCall]) -> Result<String, DemonstrationError> {
        if self.over {
            return Ok(String::new());
        }
        let codec = &self.demonstrator.codec;
        let mut written = codec.turn(content, calls);
        let text = spelled(&written);
        written.push(Piece::Template(codec.end_of_turn().to_owned()));
        self.script.written(written);
        match self.episode.turn(&ModelOutput::stopped(text), self.demonstrator.judge.sandbox.as_ref())? {
            TurnOutcome::Done(_) => {
                self.over = true;
                Ok(String::new())
            }
            TurnOutcome::Continue { observations, prompt } => {
                self.script.shown(prompt);
                Ok(observations.join("\n"))
            }
        }
    }
}

impl Tested {
    /// Reads the output of a test run as a person would.
    fn of(output: &str) -> Self {
        if output.starts_with("Exit code: 0\n") {
            return Self::Passed;
        }
        let failed = output.lines().find_map(|line| line.strip_prefix("FAILED "));
        let name = failed.and_then(|id| id.split_once("::test_")).and_then(|(_, name)| name.rsplit_once('_'));
        match name {
            Some((function, _)) => Self::Failed { function: function.to_owned() },
            None => Self::Unclear,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failing_test_names_its_function() {
        let output = "Exit code: 1\nFAILED test_shop.py::test_sum_cups_2\n>   assert sum_cups([]) == 0\nE   assert 1 == 0\n1 failed";
        assert_eq!(Tested::of(output), Tested::Failed { function: "sum_cups".to_owned() });
        assert_eq!(Tested::of("Exit code: 0\n3 passed"), Tested::Passed);
        assert_eq!(Tested::of("Exit code: 2\nERROR test_shop.py"), Tested::Unclear);
    }
}
