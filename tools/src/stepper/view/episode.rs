//! A trajectory: its transcript, and its sampled tokens with what became of each.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row, Table};

use super::flow;
use super::{first_visible, framed, said};
use crate::engine::{Episode, Piece, TokenRow, TokenTable};

/// Columns of the table of tokens.
const TABLE: u16 = 62;

pub(super) fn draw(
    episode: Option<&Result<Box<Episode>, String>>,
    (lesson, token): (usize, usize),
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let Some(Ok(episode)) = episode else {
        let instead = episode.and_then(|episode| episode.as_ref().err()).map_or("...", String::as_str);
        return frame.render_widget(said(instead).block(framed(String::new(), true)), area);
    };
    let height = u16::try_from(episode.heading.lines().count()).unwrap_or(u16::MAX);
    let [heading, body] = Layout::vertical([Constraint::Max(height), Constraint::Min(0)]).areas(area);
    frame.render_widget(Paragraph::new(episode.heading.as_str()), heading);
    let Some(table) = episode.lessons.get(lesson) else { return };
    let selected = table.tokens.get(token);
    let [left, right] = Layout::horizontal([Constraint::Min(0), Constraint::Length(TABLE)]).areas(body);
    transcript(&episode.pieces, table, selected, frame, left);
    let [rows, one] = Layout::vertical([Constraint::Min(0), Constraint::Length(4)]).areas(right);
    tokens(table, (lesson + 1, episode.lessons.len()), token, frame, rows);
    if let Some(selected) = selected {
        let block = framed(format!("token {} of {}", token + 1, table.tokens.len()), false);
        frame.render_widget(said(&in_full(selected)).block(block), one);
    }
}

/// What the policy saw and wrote, the selected token in its middle.
fn transcript(
    pieces: &[Piece],
    table: &TokenTable,
    selected: Option<&TokenRow>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let block = framed("transcript".to_owned(), false);
    let inner = block.inner(area);
    let lines = flow::lines(pieces, inner.width as usize);
    let selected = selected.map(|token| token.piece);
    let at = selected.map_or(0, |piece| flow::line_of(&lines, piece));
    let height = inner.height as usize;
    let dropped = |piece: usize| {
        let row = table.tokens.binary_search_by_key(&piece, |token| token.piece);
        row.is_ok_and(|row| table.tokens[row].kept == Some(false))
    };
    let span = |fragment: flow::Fragment| {
        let piece = fragment.piece;
        let style = match pieces.get(piece) {
            _ if selected == Some(piece) => Style::new().reversed(),
            _ if dropped(piece) => Style::new().fg(Color::Red),
            Some(Piece { sampled: true, .. }) => Style::new().bold(),
            _ => Style::new().dim(),
        };
        Span::styled(fragment.text, style)
    };
    let first = first_visible(at, lines.len(), height);
    let visible = lines.into_iter().skip(first).take(height);
    let visible: Vec<Line<'_>> = visible.map(|line| line.into_iter().map(span).collect()).collect();
    frame.render_widget(Paragraph::new(visible).block(block), area);
}

fn tokens(
    table: &TokenTable,
    (lesson, lessons): (usize, usize),
    selected: usize,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let which = if lessons > 1 { format!(" ({lesson} of {lessons})") } else { String::new() };
    let block = framed(format!("{}{which}", table.title), true);
    let height = (block.inner(area).height as usize).saturating_sub(1);
    let first = first_visible(selected, table.tokens.len(), height);
    let visible = table.tokens.iter().enumerate().skip(first).take(height);
    let rows = visible.map(|(place, token)| {
        let style = if place == selected {
            Style::new().reversed()
        } else if token.kept == Some(false) {
            Style::new().fg(Color::Red)
        } else {
            Style::new()
        };
        Row::new(cells(token)).style(style)
    });
    let widths = [4, 16, 7, 7, 7, 7, 7].map(Constraint::Length);
    let headings = ["at", "token", "q", "p", "ratio", "A", "fate"];
    let table = Table::new(rows, widths).header(Row::new(headings).bold()).block(block);
    frame.render_widget(table, area);
}

fn cells(token: &TokenRow) -> [String; 7] {
    let fate = match token.kept {
        Some(true) => "kept",
        Some(false) => "dropped",
        None => "-",
    };
    [
        token.position.to_string(),
        format!("{:?}", token.text),
        format!("{:.5}", token.q),
        figure(token.p),
        figure(token.ratio),
        token.advantage.map_or_else(|| "-".to_owned(), |advantage| format!("{advantage:+.4}")),
        fate.to_owned(),
    ]
}

/// The selected token, with the reason of its fate.
fn in_full(token: &TokenRow) -> String {
    format!("{:?}: q {:.5}, p {}\n{}", token.text, token.q, figure(token.p), token.fate)
}

fn figure(value: Option<f32>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.5}"))
}
