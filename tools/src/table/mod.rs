//! Tables of figures.

mod beside;
mod evaluations;
mod iterations;
mod recalibration;
mod shadow;

pub(crate) use beside::beside;
pub(crate) use evaluations::evaluations;
pub(crate) use iterations::iterations;
pub(crate) use recalibration::recalibration;
pub(crate) use shadow::shadow;

/// How a column is aligned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Lays rows out under headings, every column as wide as its widest cell.
pub(crate) fn layout(columns: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let width = |index: usize, heading: &str| {
        let cells = rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.chars().count());
        cells.chain([heading.chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> =
        columns.iter().enumerate().map(|(index, (heading, _))| width(index, heading)).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(columns).zip(&widths).map(|((cell, (_, align)), &width)| match align {
            Align::Left => format!("{cell:<width$}"),
            Align::Right => format!("{cell:>width$}"),
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(&mut columns.iter().map(|(heading, _)| *heading))];
    lines.push(widths.iter().map(|&width| "─".repeat(width)).collect::<Vec<_>>().join("──"));
    lines.extend(rows.iter().map(|row| line(&mut row.iter().map(String::as_str))));
    lines.join("\n") + "\n"
}

/// A figure, or a dash where there is none.
fn shown<T>(figure: Option<T>, show: impl FnOnce(T) -> String) -> String {
    figure.map_or_else(|| "-".to_owned(), show)
}
