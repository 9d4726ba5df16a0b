//! Which way arrows move, and how far.

use ratatui::crossterm::event::KeyCode;

/// Lines that a page key moves by.
const PAGE: usize = 10;

/// Which way, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Back(usize),
    On(usize),
    First,
    Last,
}

impl Move {
    /// Where it leads from `at` among `count` places.
    pub(super) fn within(self, at: usize, count: usize) -> usize {
        let last = count.saturating_sub(1);
        match self {
            Self::Back(by) => at.saturating_sub(by).min(last),
            Self::On(by) => at.saturating_add(by).min(last),
            Self::First => 0,
            Self::Last => last,
        }
    }
}

/// The way of an arrow or a page key.
pub(super) fn arrow(code: KeyCode) -> Option<Move> {
    match code {
        KeyCode::Up | KeyCode::Char('k') => Some(Move::Back(1)),
        KeyCode::Down | KeyCode::Char('j') => Some(Move::On(1)),
        KeyCode::PageUp => Some(Move::Back(PAGE)),
        KeyCode::PageDown => Some(Move::On(PAGE)),
        _ => None,
    }
}
