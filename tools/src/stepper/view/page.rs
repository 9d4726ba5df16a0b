//! What is opened over the panes: texts, and the keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::widgets::{Block, Clear, Paragraph, Row, Table};

use super::super::keys::HELP;
use super::{framed, said};

/// A text from its line `scroll` on.
pub(super) fn text(scroll: usize, text: Option<&Result<String, String>>, frame: &mut Frame<'_>, area: Rect) {
    let Some(Ok(text)) = text else {
        let instead = text.and_then(|text| text.as_ref().err()).map_or("...", String::as_str);
        return frame.render_widget(said(instead).block(framed(String::new(), true)), area);
    };
    let mut lines = text.lines();
    let heading = lines.next().unwrap_or_default().to_owned();
    let block = framed(heading, true);
    let height = block.inner(area).height as usize;
    let visible: Vec<&str> = lines.skip(scroll).take(height).collect();
    frame.render_widget(Paragraph::new(visible.join("\n")).block(block), area);
}

/// What the keys do.
pub(super) fn help(frame: &mut Frame<'_>, area: Rect) {
    let height = u16::try_from(HELP.len()).unwrap_or(u16::MAX).saturating_add(2);
    let area = area.centered(Constraint::Max(90), Constraint::Max(height));
    let rows = HELP.iter().map(|(key, meaning)| Row::new([*key, *meaning]));
    let table = Table::new(rows, [Constraint::Length(12), Constraint::Min(0)])
        .style(Style::new())
        .block(Block::bordered().title(" keys ").bold());
    frame.render_widget(Clear, area);
    frame.render_widget(table, area);
}
