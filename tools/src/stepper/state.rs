//! What is being looked at.

use std::ops::Range;

use crate::engine::{Episode, Kind, Outline, Sheet, Subject};

/// Rows of a world table that are loaded on either side of a block of as many.
const BLOCK: usize = 128;

/// All that decides what is seen.
#[derive(Debug)]
pub(super) struct State {
    pub(super) title: String,
    /// Every step so far; at least one.
    pub(super) steps: Vec<Outline>,
    /// Place in `steps`.
    pub(super) step: usize,
    /// Place among the events of that step.
    pub(super) event: usize,
    /// Whether the last step is to be looked at whenever the run grows.
    pub(super) follows: bool,
    pub(super) focus: Focus,
    /// Which table of the world is shown.
    pub(super) kind: Kind,
    /// Its selected row, from the newest.
    pub(super) row: usize,
    /// First visible line of the event's fields.
    pub(super) scroll: usize,
    /// What was opened, the last on top.
    pub(super) pages: Vec<Page>,
    pub(super) prompt: Option<Prompt>,
    /// What was searched for last.
    pub(super) sought: Option<String>,
    /// Said once, until the next key.
    pub(super) note: Option<String>,
    pub(super) helps: bool,
    pub(super) done: bool,
    fields: Loaded<(u64, usize), String>,
    sheet: Loaded<(u64, Kind, usize), Sheet>,
}

/// Which pane the arrows move in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    Events,
    Fields,
    World,
}

/// Something opened over the panes.
#[derive(Debug)]
pub(super) enum Page {
    /// What `show` prints of a thing.
    Text { subject: Subject, scroll: usize, text: Option<Result<String, String>> },
    /// A trajectory: the lesson and the token that are selected.
    Episode { id: u64, lesson: usize, token: usize, episode: Option<Result<Box<Episode>, String>> },
}

/// A line being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) asks: Asks,
    pub(super) typed: String,
}

/// What a typed line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// An event kind or an id to look for.
    Search,
    /// A step, event or iteration to go to.
    Place,
}

/// What is missing to show the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Fields { step: u64, index: usize },
    World { step: u64, kind: Kind, block: usize },
    Show(Subject),
    Episode(u64),
}

/// What was asked for, or why there is none.
#[derive(Debug)]
pub(super) enum Answer {
    Text(String),
    Sheet(Sheet),
    Episode(Box<Episode>),
    Failed(String),
}

/// The last answer to a kind of question, with the question.
type Loaded<Q, A> = Option<(Q, Result<A, String>)>;

impl State {
    /// At the first step of a run that is over, at the last of one that is not. `steps` is not empty.
    pub(super) fn new(title: String, steps: Vec<Outline>) -> Self {
        let over = steps
            .iter()
            .rev()
            .take(1)
            .flat_map(|step| &step.events)
            .any(|event| event.name == "RunFinished" || event.name == "UpdateRefused");
        let step = if over { 0 } else { steps.len().saturating_sub(1) };
        Self {
            title,
            steps,
            step,
            event: 0,
            follows: !over,
            focus: Focus::Events,
            kind: Kind::Trajectories,
            row: 0,
            scroll: 0,
            pages: Vec::new(),
            prompt: None,
            sought: None,
            note: None,
            helps: false,
            done: false,
            fields: None,
            sheet: None,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    pub(super) fn say(&mut self, note: impl Into<String>) {
        self.note = Some(note.into());
    }

    /// Takes in steps that were committed meanwhile.
    pub(super) fn grow(&mut self, more: Vec<Outline>) {
        let grew = !more.is_empty();
        self.steps.extend(more);
        if grew && self.follows {
            self.go(self.steps.len().saturating_sub(1), 0);
        }
    }

    /// The step that is looked at.
    pub(super) fn outline(&self) -> Option<&Outline> {
        self.steps.get(self.step)
    }

    /// Looks at another event; the place is moved into the run.
    pub(super) fn go(&mut self, step: usize, event: usize) {
        self.step = step.min(self.steps.len().saturating_sub(1));
        let last = self.outline().map_or(0, |outline| outline.events.len().saturating_sub(1));
        self.event = event.min(last);
        self.scroll = 0;
    }

    /// The fields of the event that is looked at, once they are there.
    pub(super) fn fields(&self) -> Option<&Result<String, String>> {
        let wanted = (self.outline()?.step, self.event);
        self.fields.as_ref().filter(|(key, _)| *key == wanted).map(|(_, fields)| fields)
    }

    /// The table of the world that is looked at, once it is there.
    pub(super) fn sheet(&self) -> Option<&Result<Sheet, String>> {
        let wanted = (self.outline()?.step, self.kind, self.row / BLOCK);
        self.sheet.as_ref().filter(|(key, _)| *key == wanted).map(|(_, sheet)| sheet)
    }

    /// What must be answered before the state can be shown whole.
    pub(super) fn wanted(&self) -> Option<Request> {
        match self.pages.last() {
            Some(Page::Text { subject, text: None, .. }) => return Some(Request::Show(subject.clone())),
            Some(Page::Episode { id, episode: None, .. }) => return Some(Request::Episode(*id)),
            Some(_) => return None,
            None => {}
        }
        let step = self.outline()?.step;
        if self.fields().is_none() {
            return Some(Request::Fields { step, index: self.event });
        }
        if self.sheet().is_none() {
            return Some(Request::World { step, kind: self.kind, block: self.row / BLOCK });
        }
        None
    }

    /// Takes in the answer to a request.
    pub(super) fn answer(&mut self, request: &Request, answer: Answer) {
        match (request, answer) {
            (Request::Fields { step, index }, answer) => {
                self.fields = Some(((*step, *index), answer.text()));
            }
            (Request::World { step, kind, block }, answer) => {
                let sheet = answer.sheet();
                if let Ok(sheet) = &sheet {
                    // A step further back has fewer rows; those of another block are asked for next.
                    self.row = self.row.min(sheet.count(*kind).saturating_sub(1));
                }
                self.sheet = Some(((*step, *kind, *block), sheet));
            }
            (Request::Show(_), answer) => {
                if let Some(Page::Text { text, .. }) = self.pages.last_mut() {
                    *text = Some(answer.text());
                }
            }
            (Request::Episode(_), answer) => {
                if let Some(Page::Episode { episode, .. }) = self.pages.last_mut() {
                    *episode = Some(answer.episode());
                }
            }
        }
    }

    /// Opens a thing over the panes.
    pub(super) fn open(&mut self, subject: Subject) {
        self.pages.push(match subject {
            Subject::Trajectory { id, .. } => Page::Episode { id, lesson: 0, token: 0, episode: None },
            subject => Page::Text { subject, scroll: 0, text: None },
        });
    }
}

/// The rows of a block, with those around it.
pub(super) fn rows_of(block: usize) -> Range<usize> {
    let start = block.saturating_mul(BLOCK);
    start.saturating_sub(BLOCK)..start.saturating_add(2 * BLOCK)
}

/// An answer to another question than was asked.
const OTHER: &str = "this was not what was asked for";

impl Answer {
    fn text(self) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Failed(why) => Err(why),
            Self::Sheet(_) | Self::Episode(_) => Err(OTHER.to_owned()),
        }
    }

    fn sheet(self) -> Result<Sheet, String> {
        match self {
            Self::Sheet(sheet) => Ok(sheet),
            Self::Failed(why) => Err(why),
            Self::Text(_) | Self::Episode(_) => Err(OTHER.to_owned()),
        }
    }

    fn episode(self) -> Result<Box<Episode>, String> {
        match self {
            Self::Episode(episode) => Ok(episode),
            Self::Failed(why) => Err(why),
            Self::Text(_) | Self::Sheet(_) => Err(OTHER.to_owned()),
        }
    }
}
