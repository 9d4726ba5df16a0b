//! What keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::moves::{Move, arrow};
use super::search;
use super::state::{Asks, Focus, Page, Prompt, State};
use crate::engine::{Episode, EventOutline, Kind, Outline, Subject, TokenTable};

/// What the keys do, for people: key, meaning.
pub(super) const HELP: &[(&str, &str)] = &[
    ("left right", "the step (one commit) before, after"),
    ("up down", "move in the pane with the marked border; in events, on into the next step"),
    ("[ ]", "the iteration before, after"),
    ("home end", "the first step, the last"),
    ("page up/down", "ten at once"),
    ("tab", "the next pane"),
    ("1 2 3 4", "tasks, candidates, trajectories, policies of the world"),
    ("enter", "open what the event or row is about, in fields the event itself; esc goes back"),
    ("/ n N", "search for a kind of event or an id; the next match, the one before"),
    (":", "go to a step (12), an event (e124) or an iteration (i2)"),
    ("f", "follow a run that grows"),
    ("d D u", "in a trajectory: the next dropped token, the one before, the next update"),
    ("q", "leave"),
];

impl State {
    /// What a key does.
    pub(super) fn press(&mut self, key: KeyEvent) {
        self.note = None;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            self.done = true;
        } else if self.prompt.is_some() {
            self.type_key(key.code);
        } else if self.helps {
            self.helps = false;
        } else {
            match key.code {
                KeyCode::Char('q') => self.done = true,
                KeyCode::Char('?') => self.helps = true,
                KeyCode::Esc | KeyCode::Backspace => _ = self.pages.pop(),
                code if self.pages.is_empty() => self.press_in_panes(code),
                code => self.press_in_page(code),
            }
        }
    }

    fn press_in_panes(&mut self, code: KeyCode) {
        match code {
            KeyCode::Left | KeyCode::Char('h') => self.leave_end(self.step.saturating_sub(1), 0),
            KeyCode::Right | KeyCode::Char('l') => self.go(self.step + 1, 0),
            KeyCode::Char('[') => self.go_iteration(false),
            KeyCode::Char(']') => self.go_iteration(true),
            KeyCode::Home | KeyCode::Char('g') => self.leave_end(0, 0),
            KeyCode::End | KeyCode::Char('G') => self.go(self.steps.len(), 0),
            KeyCode::Tab => self.focus = self.focus.next(),
            KeyCode::BackTab => self.focus = self.focus.next().next(),
            KeyCode::Char(digit @ '1'..='4') => self.show_kind(digit),
            KeyCode::Enter => self.open_selected(),
            KeyCode::Char('f') => {
                self.follows = !self.follows;
                if self.follows {
                    self.go(self.steps.len(), 0);
                }
            }
            KeyCode::Char('/') => self.ask(Asks::Search),
            KeyCode::Char(':') => self.ask(Asks::Place),
            KeyCode::Char('n') => self.search_again(true),
            KeyCode::Char('N') => self.search_again(false),
            code => {
                if let Some(moved) = arrow(code) {
                    self.move_in_focus(moved);
                }
            }
        }
    }

    /// Goes back, and so follows no more.
    fn leave_end(&mut self, step: usize, event: usize) {
        self.follows = false;
        self.go(step, event);
    }

    fn go_iteration(&mut self, on: bool) {
        let Some(now) = self.outline().map(|outline| outline.iteration) else { return };
        let first_of = |iteration: u32| self.steps.iter().position(|outline| outline.iteration == iteration);
        let first = first_of(now).unwrap_or(0);
        let target = if on {
            self.steps.iter().position(|outline| outline.iteration > now)
        } else if self.step > first {
            Some(first)
        } else {
            now.checked_sub(1).and_then(first_of)
        };
        match target {
            Some(step) => self.leave_end(step, 0),
            None => self.say("there is no such iteration in the log"),
        }
    }

    fn show_kind(&mut self, digit: char) {
        let index = digit as usize - '1' as usize;
        if let Some(kind) = Kind::ALL.get(index) {
            (self.kind, self.row, self.focus) = (*kind, 0, Focus::World);
        }
    }

    fn open_selected(&mut self) {
        let selected = match self.focus {
            Focus::World => match self.sheet() {
                Some(Ok(sheet)) => {
                    let row = self.row.checked_sub(sheet.range.start).and_then(|row| sheet.rows.get(row));
                    row.map(|row| row.subject.clone())
                }
                _ => None,
            },
            Focus::Events | Focus::Fields => {
                let event = self.outline().and_then(|outline| outline.events.get(self.event));
                let about =
                    |event: &EventOutline| event.subject.clone().filter(|_| self.focus == Focus::Events);
                event.map(|event| about(event).unwrap_or(Subject::Event(event.sequence)))
            }
        };
        match selected {
            Some(subject) => self.open(subject),
            None => self.say("there is nothing more to it"),
        }
    }

    fn move_in_focus(&mut self, moved: Move) {
        match self.focus {
            Focus::Events => self.move_event(moved),
            Focus::Fields => {
                let lines = self.fields().map_or(0, lines);
                self.scroll = moved.within(self.scroll, lines);
            }
            Focus::World => {
                let all =
                    self.sheet().and_then(|sheet| sheet.as_ref().ok()).map_or(0, |it| it.count(self.kind));
                self.row = moved.within(self.row, all);
            }
        }
    }

    /// Moves by events, over the borders of steps.
    fn move_event(&mut self, moved: Move) {
        let count = |step: Option<&Outline>| step.map_or(0, |step| step.events.len());
        match moved {
            Move::Back(by) => {
                for _ in 0..by {
                    match (self.event, self.step) {
                        (0, 0) => return,
                        (0, step) => self.leave_end(step - 1, usize::MAX),
                        (event, step) => self.leave_end(step, event - 1),
                    }
                }
            }
            Move::On(by) => {
                for _ in 0..by {
                    if self.event + 1 < count(self.outline()) {
                        self.go(self.step, self.event + 1);
                    } else if self.step + 1 < self.steps.len() {
                        self.go(self.step + 1, 0);
                    }
                }
            }
            Move::First | Move::Last => {}
        }
    }

    fn press_in_page(&mut self, code: KeyCode) {
        let moved = match code {
            KeyCode::Home | KeyCode::Char('g') => Some(Move::First),
            KeyCode::End | KeyCode::Char('G') => Some(Move::Last),
            code => arrow(code),
        };
        match self.pages.last_mut() {
            Some(Page::Text { scroll, text: Some(text), .. }) => {
                if let Some(moved) = moved {
                    *scroll = moved.within(*scroll, lines(text));
                }
            }
            Some(Page::Episode { lesson, token, episode: Some(Ok(episode)), .. }) => {
                press_in_episode(code, moved, episode, lesson, token);
            }
            _ => {}
        }
    }

    fn ask(&mut self, asks: Asks) {
        self.prompt = Some(Prompt { asks, typed: String::new() });
    }

    fn type_key(&mut self, code: KeyCode) {
        let Some(prompt) = &mut self.prompt else { return };
        match code {
            KeyCode::Char(typed) => prompt.typed.push(typed),
            KeyCode::Backspace if !prompt.typed.is_empty() => _ = prompt.typed.pop(),
            KeyCode::Esc | KeyCode::Backspace => self.prompt = None,
            KeyCode::Enter => {
                let Prompt { asks, typed } = prompt.clone();
                self.prompt = None;
                match asks {
                    Asks::Search => {
                        self.sought =
                            Some(typed).filter(|typed| !typed.trim().is_empty()).or(self.sought.take());
                        self.search_again(true);
                    }
                    Asks::Place => self.go_place(&typed),
                }
            }
            _ => {}
        }
    }

    fn search_again(&mut self, on: bool) {
        let Some(sought) = self.sought.clone() else {
            return self.say("nothing was searched for yet: / searches");
        };
        match search::find(&self.steps, (self.step, self.event), &sought, on) {
            Ok(found) => {
                self.leave_end(found.step, found.event);
                self.focus = Focus::Events;
                if found.wrapped {
                    self.say(if on { "went on from the first step" } else { "went on from the last step" });
                }
            }
            Err(why) => self.say(why),
        }
    }

    fn go_place(&mut self, typed: &str) {
        match search::place(&self.steps, typed) {
            Ok((step, event)) => self.leave_end(step, event),
            Err(why) => self.say(why),
        }
    }
}

fn press_in_episode(
    code: KeyCode,
    moved: Option<Move>,
    episode: &Episode,
    lesson: &mut usize,
    token: &mut usize,
) {
    let table = episode.lessons.get(*lesson);
    let tokens = table.map_or(0, |table| table.tokens.len());
    let dropped = |table: &TokenTable, at: &usize| table.tokens[*at].kept == Some(false);
    let found = match code {
        KeyCode::Char('d') => table.and_then(|table| (*token + 1..tokens).find(|at| dropped(table, at))),
        KeyCode::Char('D') => {
            table.and_then(|table| (0..(*token).min(tokens)).rev().find(|at| dropped(table, at)))
        }
        KeyCode::Char('u') => {
            *lesson = if *lesson + 1 < episode.lessons.len() { *lesson + 1 } else { 0 };
            None
        }
        _ => moved.map(|moved| moved.within(*token, tokens)),
    };
    *token = found.unwrap_or(*token);
}

impl Focus {
    fn next(self) -> Self {
        match self {
            Self::Events => Self::Fields,
            Self::Fields => Self::World,
            Self::World => Self::Events,
        }
    }
}

/// Lines of a text or of what is said in its place.
fn lines(text: &Result<String, String>) -> usize {
    match text {
        Ok(text) | Err(text) => text.lines().count(),
    }
}
