//! The expert on a task: look, read, edit, test, answer.

use tadpole_scenarios::draws::Draws;
use tadpole_scenarios::repository::Tree;

use super::edit::{Edit, edits};
use super::mistake::{bad_path, mistyped, wrong_edit};
use super::{DemonstrationError, Demonstrator, Noise, Script};
use crate::codec::{Piece, ToolCall};
use crate::generator::Made;
use crate::harness::{Episode, ModelOutput, TaskView, TurnOutcome};

/// How often an expert whose statement names the file runs the tests first all the same.
const TESTS_FIRST: f64 = 0.2;
/// How often an expert that made no mistake runs the tests after its edits.
const TESTS_LAST: f64 = 0.5;
/// Lines that a partial read shows.
const WINDOW: usize = 9;

/// An episode being played.
pub(super) struct Playing<'a> {
    demonstrator: &'a Demonstrator,
    episode: Box<dyn Episode>,
    script: Script,
    over: bool,
}

impl<'a> Playing<'a> {
    pub(super) fn open(demonstrator: &'a Demonstrator, statement: &str, tree: &Tree) -> Self {
        let episode = demonstrator.harness.begin(&TaskView { statement, tree });
        let mut script = Script::default();
        script.shown(episode.opening());
        Self { demonstrator, episode, script, over: false }
    }

    /// Takes a turn of one call; its result. After the episode is over nothing is taken.
    pub(super) fn call(&mut self, call: ToolCall) -> Result<String, DemonstrationError> {
        self.turn("", &[call])
    }

    /// Answers, which ends the episode.
    pub(super) fn answer(mut self, text: &str) -> Result<Option<Script>, DemonstrationError> {
        if self.over {
            return Ok(None);
        }
        self.turn(text, &[])?;
        Ok(Some(self.script))
    }

    fn turn(&mut self, content: &str, calls: &[ToolCall]) -> Result<String, DemonstrationError> {
        if self.over {
            return Ok(String::new());
        }
        let codec = &self.demonstrator.codec;
        let mut written = codec.turn(content, calls);
        let text: String = crate::codec::spelled(&written);
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

    pub(super) fn source(&self, path: &str) -> String {
        self.episode.tree().text(path).unwrap_or_default().to_owned()
    }

    pub(super) fn edit(&mut self, path: &str, edit: &Edit) -> Result<String, DemonstrationError> {
        let arguments = [("file_path", path), ("old_string", &edit.old), ("new_string", &edit.new)];
        self.call(ToolCall::new("Edit", &arguments))
    }

    pub(super) fn bash(&mut self, command: &str) -> Result<String, DemonstrationError> {
        self.call(ToolCall::new("Bash", &[("command", command)]))
    }

    /// Reads a file; where it is long, the lines from a little before `line`.
    pub(super) fn read(
        &mut self,
        path: &str,
        line: usize,
        long: usize,
    ) -> Result<String, DemonstrationError> {
        let mut call = ToolCall::new("Read", &[("file_path", path)]);
        if self.source(path).len() > long {
            call.arguments.insert("offset".to_owned(), line.max(1).into());
            call.arguments.insert("limit".to_owned(), WINDOW.into());
        }
        self.call(call)
    }
}

/// Files of more bytes are read in part.
const LONG: usize = 560;

/// Plays a task.
pub(super) fn play(
    demonstrator: &Demonstrator,
    made: &Made,
    noise: &Noise,
    draws: &mut dyn Draws,
) -> Result<Option<Script>, DemonstrationError> {
    let mut playing = Playing::open(demonstrator, &made.statement, &made.snapshot);
    let paths: Vec<String> = made.gold.paths().map(str::to_owned).collect();
    let mut mistaken = false;
    for (place, path) in paths.iter().enumerate() {
        let gold = made.gold.text(path).unwrap_or_default();
        mistaken |= mend(&mut playing, made, (path, place), gold, noise, draws)?;
    }
    if mistaken || draws.chance(TESTS_LAST) {
        playing.bash("pytest")?;
    }
    playing.answer("Done.")
}

/// Mends one file. Whether the expert made a mistake on the way that only tests show.
fn mend(
    playing: &mut Playing<'_>,
    made: &Made,
    (path, place): (&str, usize),
    gold: &str,
    noise: &Noise,
    draws: &mut dyn Draws,
) -> Result<bool, DemonstrationError> {
    let planned = edits(&playing.source(path), gold);
    let Some(first) = planned.first() else { return Ok(false) };
    let (function, line) = function_around(&playing.source(path), first.line);
    let named = made.statement.contains(path);
    if place == 0 && (!named || draws.chance(TESTS_FIRST)) {
        if !named && made.statement.contains(function.as_str()) && draws.chance(0.5) {
            playing.bash(&format!("grep -n {function} *.py"))?;
        } else {
            playing.bash("pytest")?;
        }
    }
    if draws.chance(noise.bad_path) {
        let path = bad_path(path, draws);
        playing.call(ToolCall::new("Read", &[("file_path", &path)]))?;
    }
    if playing.source(path).len() > LONG {
        playing.bash(&format!("grep -n {function} {path}"))?;
    }
    playing.read(path, line + 1, LONG)?;
    let mut mistaken = false;
    for (index, edit) in planned.iter().enumerate() {
        if index > 0 && playing.source(path).len() > LONG {
            let (_, line) = function_around(&playing.source(path), edit.line);
            playing.read(path, line + 1, LONG)?;
        }
        mistaken |= apply(playing, path, edit, noise, draws)?;
    }
    Ok(mistaken)
}

/// Makes one edit, perhaps after mistakes.
fn apply(
    playing: &mut Playing<'_>,
    path: &str,
    edit: &Edit,
    noise: &Noise,
    draws: &mut dyn Draws,
) -> Result<bool, DemonstrationError> {
    let mut edit = edit.clone();
    let mut mistaken = false;
    if draws.chance(noise.wrong_edit)
        && let Some(idea) = wrong_edit(&playing.source(path), &edit, draws)?
    {
        playing.edit(path, &idea)?;
        playing.bash("pytest")?;
        mistaken = true;
        edit = correction(playing, path, &idea, edit)?;
    }
    if draws.chance(noise.typo) {
        playing.edit(path, &Edit { old: mistyped(&edit.old, draws), ..edit.clone() })?;
    }
    if draws.chance(noise.no_change) {
        playing.edit(path, &Edit { new: edit.old.clone(), ..edit.clone() })?;
    }
    playing.edit(path, &edit)?;
    Ok(mistaken)
}

/// What mends the file after `idea`: an edit of the same line, or the idea is taken back first.
fn correction(
    playing: &mut Playing<'_>,
    path: &str,
    idea: &Edit,
    edit: Edit,
) -> Result<Edit, DemonstrationError> {
    if idea.old == edit.old {
        return Ok(Edit { old: idea.new.clone(), ..edit });
    }
    playing.edit(path, &Edit { old: idea.new.clone(), new: idea.old.clone(), line: idea.line })?;
    Ok(edit)
}

/// Name of the function around `line` (from 0), and the line of its `def`.
pub(super) fn function_around(source: &str, line: usize) -> (String, usize) {
    let lines: Vec<&str> = source.lines().collect();
    let name = |at: usize| lines.get(at)?.strip_prefix("def ")?.split('(').next();
    (0..=line).rev().find_map(|at| Some((name(at)?.to_owned(), at))).unwrap_or_default()
}
