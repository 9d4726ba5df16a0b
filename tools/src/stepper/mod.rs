//! A run on the terminal, step by step.
//!
//! What is seen is a pure function of a [`State`] (`view`), and a state changes by keys, by the growth of the run and by answers
//! to what it asks for, all without any input or output (`state`, `keys`). The loop below is all that touches the terminal.

mod keys;
mod moves;
mod search;
mod state;
mod view;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use signal_hook::consts::TERM_SIGNALS;

use crate::engine::Recording;
use crate::failure::Failure;
use state::{Answer, Request, State};

/// Between two looks at a run that may be growing.
const TICK: Duration = Duration::from_millis(500);

/// Steps through a run until the user leaves.
pub(crate) fn run(recording: &mut dyn Recording) -> Result<(), Failure> {
    let mut state = State::new(recording.title(), recording.more()?);
    let ended = Arc::new(AtomicBool::new(false));
    for signal in endings() {
        // What cannot be caught ends the program as it always would.
        let _unheard = signal_hook::flag::register(signal, Arc::clone(&ended));
    }
    let _restored = Restored;
    let mut terminal = ratatui::try_init().map_err(|error| terminal_failure(&error))?;
    while !state.is_done() && !ended.load(Ordering::Relaxed) {
        load(&mut state, recording);
        turn(&mut terminal, &mut state, recording)?;
    }
    Ok(())
}

/// The signals that ask a program to end.
fn endings() -> Vec<i32> {
    let mut signals = TERM_SIGNALS.to_vec();
    #[cfg(unix)]
    signals.push(signal_hook::consts::SIGHUP);
    signals
}

/// Gives the terminal back as it was, however the program leaves; `try_init` sees to panics.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Draws, and waits for keys or for the run to grow.
fn turn(
    terminal: &mut DefaultTerminal,
    state: &mut State,
    recording: &mut dyn Recording,
) -> Result<(), Failure> {
    let failed = |error: io::Error| terminal_failure(&error);
    terminal.draw(|frame| view::draw(state, frame)).map_err(failed)?;
    if !event::poll(TICK).map_err(failed)? {
        refresh(state, recording);
        return Ok(());
    }
    // Whatever was typed meanwhile comes first, so that a held key does not load every step that it passes.
    loop {
        match event::read().map_err(failed)? {
            Event::Key(key) if key.kind != KeyEventKind::Release => state.press(key),
            _ => {}
        }
        if !event::poll(Duration::ZERO).map_err(failed)? {
            return Ok(());
        }
    }
}

/// Takes in what was committed since the last look.
fn refresh(state: &mut State, recording: &mut dyn Recording) {
    match recording.more() {
        Ok(more) => state.grow(more),
        Err(failure) => state.say(failure.to_string()),
    }
}

/// Answers all that the state asks for.
fn load(state: &mut State, recording: &mut dyn Recording) {
    while let Some(request) = state.wanted() {
        let answer = match &request {
            Request::Fields { step, index } => recording.fields(*step, *index).map(Answer::Text),
            Request::World { step, kind, block } => {
                recording.world(*step, *kind, state::rows_of(*block)).map(Answer::Sheet)
            }
            Request::Show(subject) => recording.show(subject).map(|shown| Answer::Text(shown.text)),
            Request::Episode(id) => recording.episode(*id).map(|episode| Answer::Episode(Box::new(episode))),
        };
        state.answer(&request, answer.unwrap_or_else(|failure| Answer::Failed(failure.to_string())));
    }
}

fn terminal_failure(error: &io::Error) -> Failure {
    Failure::failed(format!("the terminal failed: {error}"))
        .help("`tadpole show` prints the same without one")
}

#[cfg(test)]
mod growth;
#[cfg(test)]
mod tests;
