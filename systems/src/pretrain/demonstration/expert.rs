//! The expert on a task: find a fault, look at it, edit, test, answer.
//!
//! It finds a fault only as a person could: by a function or file that the statement names, or by the first test that
//! fails. What the right line is, it knows from gold.

use std::collections::BTreeSet;

use tadpole_scenarios::draws::Draws;

use super::edit::{Edit, edits, function_around};
use super::episode::{Playing, Tested};
use super::mistake::{Mistakes, bad_path, mistyped, wrong_edit};
use super::{DemonstrationError, Demonstrator, Noise, Script};
use crate::generator::Made;

/// How often an expert that knows where to look runs the tests first all the same.
const TESTS_FIRST: f64 = 0.15;
/// How often an expert whose edits were all right the first time runs the tests after them.
const TESTS_LAST: f64 = 0.75;
/// Bytes of a file that is short enough to be shown whole.
const SHORT: usize = 460;
/// How often a short file is looked at as a whole.
const WHOLE: f64 = 0.35;
/// Of these, how often with line numbers.
const NUMBERED: f64 = 0.4;
/// How often a wrong path makes the expert list the files before it tries again.
const LISTS: f64 = 0.5;
/// What an expert says in the end.
const DONE: &str = "Done.";

/// How mending a fault ended.
enum Mended {
    /// The fault is gone.
    Done,
    /// With a wrong edit, and no wish to see it tested.
    Hastily,
    /// An edit failed, or a mistake does not show.
    Not,
}

/// A fault that is still there.
struct Fault {
    path: String,
    function: String,
    edit: Edit,
}

/// Plays a task. `None` where the expert cannot find a fault, or the episode ends before it is done.
pub(super) fn play(
    demonstrator: &Demonstrator,
    made: &Made,
    noise: &Noise,
    draws: &mut dyn Draws,
) -> Result<Option<Script>, DemonstrationError> {
    let playing = Playing::open(demonstrator, &made.statement, &made.snapshot);
    let mistakes = Mistakes::draw(noise, draws);
    let mut expert = Expert {
        playing,
        made,
        mistakes,
        hasty: noise.hasty,
        tested: None,
        looked: BTreeSet::new(),
        blundered: false,
    };
    while let Some(first) = expert.faults().into_iter().next() {
        let Some(fault) = expert.locate(first, draws)? else { return Ok(None) };
        expert.look(&fault, draws)?;
        match expert.mend(fault, draws)? {
            Mended::Done => {}
            Mended::Hastily => return expert.playing.answer_as_it_is(DONE).map(Some),
            Mended::Not => return Ok(None),
        }
    }
    let checks = expert.blundered || draws.chance(TESTS_LAST);
    if checks && expert.playing.test()? != Tested::Passed {
        return Ok(None);
    }
    expert.playing.answer(DONE, &made.snapshot.overlaid(&made.gold))
}

struct Expert<'a> {
    playing: Playing<'a>,
    made: &'a Made,
    /// Mistakes still to be made.
    mistakes: Mistakes,
    /// Chance of leaving it at a wrong edit.
    hasty: f64,
    /// What the tests showed, if nothing changed since.
    tested: Option<Tested>,
    /// Functions looked at.
    looked: BTreeSet<String>,
    /// Whether an edit was wrong.
    blundered: bool,
}

impl Expert<'_> {
    /// The faults that are still there, those first that the statement names first.
    fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for path in self.made.gold.paths() {
            let now = self.playing.source(path);
            for edit in edits(now, self.made.gold.text(path).unwrap_or_default()) {
                let function = function_around(now, edit.line_last()).unwrap_or_default().to_owned();
                faults.push(Fault { path: path.to_owned(), function, edit });
            }
        }
        faults.sort_by_key(|fault| self.made.statement.find(&fault.function).unwrap_or(usize::MAX));
        faults
    }

    fn is_named(&self, name: &str) -> bool {
        self.made.statement.contains(name)
    }

    /// The fault that the expert finds next; `first` is the one that the statement says most of.
    fn locate(&mut self, first: Fault, draws: &mut dyn Draws) -> Result<Option<Fault>, DemonstrationError> {
        let named = self.is_named(&first.function);
        let by_eye = self.is_named(&first.path) && self.is_short(&first.path) && draws.chance(WHOLE);
        if self.tested.is_none() && (!(named || by_eye) || draws.chance(TESTS_FIRST)) {
            self.tested = Some(self.playing.test()?);
        }
        if let Some(Tested::Failed { function }) = &self.tested {
            let shown = self.faults().into_iter().find(|fault| fault.function == *function);
            return Ok(shown.or(named.then_some(first)));
        }
        Ok((named || by_eye).then_some(first))
    }

    fn is_short(&self, path: &str) -> bool {
        self.playing.source(path).len() <= SHORT
    }

    /// Looks at the function of a fault, unless it was looked at before.
    fn look(&mut self, fault: &Fault, draws: &mut dyn Draws) -> Result<(), DemonstrationError> {
        let Fault { path, function, .. } = fault;
        if self.looked.contains(function) {
            return Ok(());
        }
        let path_known = self.is_named(path) || matches!(self.tested, Some(Tested::Failed { .. }));
        if !path_known {
            self.playing.bash(&format!("grep -l 'def {function}' *.py"))?;
        }
        // Who does not know the function has to see the whole file.
        let function_known = self.is_named(function) || self.tested.is_some();
        let view = match self.is_short(path) && (!function_known || draws.chance(WHOLE)) {
            true if draws.chance(NUMBERED) => View::Numbered,
            true => View::Whole,
            false => View::Function,
        };
        if std::mem::take(&mut self.mistakes.bad_path) {
            self.view(view, &bad_path(path, draws), function)?;
            if draws.chance(LISTS) {
                self.playing.list()?;
            }
        }
        self.view(view, path, function)?;
        match view {
            View::Function => self.looked.extend([function.clone()]),
            View::Whole | View::Numbered => {
                let lines = 0..self.playing.source(path).lines().count();
                let names = lines.filter_map(|line| function_around(self.playing.source(path), line));
                self.looked.extend(names.map(str::to_owned).collect::<Vec<_>>());
            }
        }
        Ok(())
    }

    fn view(&mut self, view: View, path: &str, function: &str) -> Result<String, DemonstrationError> {
        match view {
            View::Function => self.playing.bash(&format!("sed -n '/def {function}/,/^$/p' {path}")),
            View::Whole => self.playing.bash(&format!("cat {path}")),
            View::Numbered => self.playing.read(path),
        }
    }

    /// Mends a fault, perhaps after mistakes.
    fn mend(&mut self, fault: Fault, draws: &mut dyn Draws) -> Result<Mended, DemonstrationError> {
        let Fault { path, mut edit, .. } = fault;
        self.tested = None;
        if std::mem::take(&mut self.mistakes.wrong_edit)
            && let Some(idea) = wrong_edit(self.playing.source(&path), &edit, draws)?
        {
            self.blundered = true;
            if !self.playing.edit(&path, &idea)? {
                return Ok(Mended::Not);
            }
            if draws.chance(self.hasty) {
                return Ok(Mended::Hastily);
            }
            if !matches!(self.playing.test()?, Tested::Failed { .. }) {
                return Ok(Mended::Not);
            }
            if idea.old == edit.old {
                edit.old = idea.new;
            } else if !self.playing.edit(&path, &idea.reversed())? {
                return Ok(Mended::Not);
            }
        }
        if std::mem::take(&mut self.mistakes.typo) {
            self.playing.edit(&path, &Edit { old: mistyped(&edit.old, draws), ..edit.clone() })?;
        }
        if std::mem::take(&mut self.mistakes.no_change) {
            self.playing.edit(&path, &Edit { new: edit.old.clone(), ..edit.clone() })?;
        }
        Ok(if self.playing.edit(&path, &edit)? { Mended::Done } else { Mended::Not })
    }
}

/// How a function is looked at.
#[derive(Clone, Copy)]
enum View {
    /// Alone.
    Function,
    /// With its file.
    Whole,
    /// With its file, lines numbered.
    Numbered,
}
