//! A state as cells of a terminal: pure, so that screens are tested as text.

mod episode;
mod flow;
mod page;
mod panes;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use super::state::{Asks, Page, State};

/// Columns from which there is room for the list of steps.
const WIDE: u16 = 100;

/// Draws everything.
pub(super) fn draw(state: &State, frame: &mut Frame<'_>) {
    let [top, body, bottom] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(title(state), top);
    match state.pages.last() {
        Some(Page::Text { scroll, text, .. }) => page::text(*scroll, text.as_ref(), frame, body),
        Some(Page::Episode { lesson, token, episode, .. }) => {
            episode::draw(episode.as_ref(), (*lesson, *token), frame, body);
        }
        None => draw_panes(state, frame, body),
    }
    frame.render_widget(footer(state), bottom);
    if state.helps {
        page::help(frame, body);
    }
}

fn draw_panes(state: &State, frame: &mut Frame<'_>, area: Rect) {
    let rest = if area.width < WIDE {
        area
    } else {
        let [left, rest] = Layout::horizontal([Constraint::Length(36), Constraint::Min(0)]).areas(area);
        panes::steps(state, frame, left);
        rest
    };
    let [upper, lower] = Layout::vertical([Constraint::Fill(1); 2]).areas(rest);
    let [events, fields] = Layout::horizontal([Constraint::Fill(1); 2]).areas(upper);
    panes::events(state, frame, events);
    panes::fields(state, frame, fields);
    panes::world(state, frame, lower);
}

fn title(state: &State) -> Line<'static> {
    let mut parts = vec![Span::from(format!(" {}", state.title)).bold()];
    if let (Some(outline), Some(last)) = (state.outline(), state.steps.last()) {
        parts.push(Span::from(format!(
            "   step {} of {}   iteration {}",
            outline.step, last.step, outline.iteration
        )));
    }
    if state.follows {
        parts.push(Span::from("   following").bold());
    }
    Line::from(parts).style(Style::new().reversed())
}

fn footer(state: &State) -> Line<'static> {
    if let Some(prompt) = &state.prompt {
        let asks = match prompt.asks {
            Asks::Search => "kind or id",
            Asks::Place => "step, eEVENT or iITERATION",
        };
        return Line::from(vec![
            Span::from(format!(" {asks}: ")).bold(),
            format!("{}_", prompt.typed).into(),
        ]);
    }
    if let Some(note) = &state.note {
        return Line::from(format!(" {}", note.replace('\n', " "))).bold();
    }
    let keys = match state.pages.last() {
        None => {
            " left right: step   up down: event   [ ]: iteration   tab: pane   enter: open   /: search   ?: keys   q: leave"
        }
        Some(Page::Text { .. }) => " up down: scroll   esc: back   ?: keys   q: leave",
        Some(Page::Episode { .. }) => {
            " up down: token   d D: dropped token   u: update   esc: back   ?: keys   q: leave"
        }
    };
    Line::from(keys).dim()
}

/// A frame around a pane, marked where the arrows move in it.
fn framed(title: String, marked: bool) -> Block<'static> {
    let block = Block::bordered().title(format!(" {title} "));
    if marked { block.border_type(ratatui::widgets::BorderType::Thick).bold() } else { block }
}

/// What is said while an answer is missing, or instead of one.
fn said(text: &str) -> Paragraph<'static> {
    Paragraph::new(text.to_owned()).wrap(ratatui::widgets::Wrap { trim: false })
}

/// The first of `count` lines to show in `height` lines, so that line `selected` is among them, near the middle.
fn first_visible(selected: usize, count: usize, height: usize) -> usize {
    selected.saturating_sub(height / 2).min(count.saturating_sub(height))
}
