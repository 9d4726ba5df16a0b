//! The panes: steps, events, fields, world.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row, Table};

use super::super::state::{Focus, State};
use super::{first_visible, framed, said};
use crate::engine::{Kind, Outline, Sheet};

/// Between two columns of a table.
const SPACING: u16 = 2;

/// Every step, the one looked at marked.
pub(super) fn steps(state: &State, frame: &mut Frame<'_>, area: Rect) {
    let block = framed("steps".to_owned(), false);
    let height = block.inner(area).height as usize;
    let first = first_visible(state.step, state.steps.len(), height);
    let visible = state.steps.iter().enumerate().skip(first).take(height);
    let lines: Vec<Line<'_>> = visible
        .map(|(place, outline)| {
            let line = Line::from(step_line(outline));
            if place == state.step { line.reversed() } else { line }
        })
        .collect();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// Number, iteration, and what it led to: its last event says so.
fn step_line(outline: &Outline) -> String {
    let more = match outline.events.len() {
        0 | 1 => String::new(),
        count => format!(" +{}", count - 1),
    };
    let led_to = outline.events.last().map_or("", |event| event.name);
    format!("{:>5} i{} {led_to}{more}", outline.step, outline.iteration)
}

/// The events of the step that is looked at.
pub(super) fn events(state: &State, frame: &mut Frame<'_>, area: Rect) {
    let Some(outline) = state.outline() else { return };
    let title = format!("step {}: chain {}", outline.step, start(&outline.chain));
    let block = framed(title, state.focus == Focus::Events);
    let height = block.inner(area).height as usize;
    let first = first_visible(state.event, outline.events.len(), height);
    let visible = outline.events.iter().enumerate().skip(first).take(height);
    let lines: Vec<Line<'_>> = visible
        .map(|(place, event)| {
            let kind = Span::from(format!("{:>5} {} ", event.sequence, event.name)).bold();
            let line = Line::from(vec![kind, Span::from(event.about.as_str())]);
            if place == state.event { line.reversed() } else { line }
        })
        .collect();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// The fields of the event that is looked at.
pub(super) fn fields(state: &State, frame: &mut Frame<'_>, area: Rect) {
    let event = state.outline().and_then(|outline| outline.events.get(state.event));
    let title = event.map_or_else(String::new, |event| format!("event {}: {}", event.sequence, event.name));
    let block = framed(title, state.focus == Focus::Fields);
    let text = match state.fields() {
        Some(Ok(text)) => Paragraph::new(text.as_str()).scroll((lines(state.scroll), 0)),
        Some(Err(why)) => said(why),
        None => said("..."),
    };
    frame.render_widget(text.block(block), area);
}

/// The table of the world that is looked at.
pub(super) fn world(state: &State, frame: &mut Frame<'_>, area: Rect) {
    let marked = state.focus == Focus::World;
    let sheet = match state.sheet() {
        Some(Ok(sheet)) => sheet,
        Some(Err(why)) => {
            return frame.render_widget(said(why).block(framed("world".to_owned(), marked)), area);
        }
        None => return frame.render_widget(said("...").block(framed("world".to_owned(), marked)), area),
    };
    let digest = state.outline().map_or("", |outline| start(&outline.world));
    let block =
        framed(format!("world {digest}: {}", sheet.stands), marked).title_bottom(tabs(state.kind, sheet));
    let Rect { width: room, height, .. } = block.inner(area);
    // A line of headings stands above the rows.
    let height = (height as usize).saturating_sub(1);
    let selected = state.row.saturating_sub(sheet.range.start);
    let first = first_visible(selected, sheet.rows.len(), height);
    let visible = sheet.rows.iter().enumerate().skip(first).take(height);
    let rows: Vec<Row<'_>> = visible
        .map(|(place, row)| {
            let cells = Row::new(row.cells.iter().map(String::as_str));
            if place == selected && marked { cells.style(Style::new().reversed()) } else { cells }
        })
        .collect();
    let table = Table::new(rows, widths(sheet, room))
        .header(Row::new(sheet.columns.iter().copied()).style(Style::new().bold()))
        .column_spacing(SPACING)
        .block(block);
    frame.render_widget(table, area);
}

/// Each column as wide as its widest cell among the loaded rows; those that do not fit whole are left out.
fn widths(sheet: &Sheet, room: u16) -> Vec<Constraint> {
    let width = |(column, heading): (usize, &&str)| {
        let cells = sheet.rows.iter().filter_map(|row| row.cells.get(column));
        let widest = cells.map(|cell| cell.chars().count()).chain([heading.len()]).max().unwrap_or(0);
        u16::try_from(widest).unwrap_or(u16::MAX)
    };
    let mut taken = 0_u16;
    let fitting = sheet.columns.iter().enumerate().map(width).take_while(|width| {
        taken = taken.saturating_add(*width).saturating_add(SPACING);
        taken <= room.saturating_add(SPACING)
    });
    fitting.map(Constraint::Length).collect()
}

fn tabs(shown: Kind, sheet: &Sheet) -> Line<'static> {
    let tabs = Kind::ALL.into_iter().enumerate().map(|(index, kind)| {
        let name = Span::from(format!(" {}: {} {} ", index + 1, sheet.count(kind), kind.name()));
        if kind == shown { name.reversed() } else { name }
    });
    tabs.collect()
}

/// The beginning of a digest.
fn start(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

/// As the paragraph counts lines.
pub(super) fn lines(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}
