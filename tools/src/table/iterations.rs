//! The table of iterations.

use tadpole_systems::analysis::IterationSummary;

use super::{Align, layout, shown};
use crate::text;

pub(super) const COLUMNS: &[(&str, Align)] = &[
    ("iteration", Align::Right),
    ("candidates", Align::Right),
    ("admitted", Align::Right),
    ("refined", Align::Right),
    ("mean p-hat", Align::Right),
    ("solved", Align::Right),
    ("95% interval", Align::Right),
    ("change", Align::Right),
    ("entropy", Align::Right),
    ("mean tokens", Align::Right),
    ("kept", Align::Right),
    ("rejected", Align::Left),
];

/// The table of iterations.
pub(crate) fn iterations(summaries: &[IterationSummary]) -> String {
    layout(COLUMNS, &rows(summaries))
}

/// Its rows.
pub(super) fn rows(summaries: &[IterationSummary]) -> Vec<Vec<String>> {
    let mut before = None;
    let mut rows = Vec::new();
    for summary in summaries {
        rows.push(row(summary, before));
        before = summary.solve_rate.or(before);
    }
    rows
}

fn row(summary: &IterationSummary, before: Option<f64>) -> Vec<String> {
    let base = summary.iteration == 0;
    let count = |number: u32| if base { "-".to_owned() } else { number.to_string() };
    let change = summary.solve_rate.zip(before).map(|(rate, before)| rate - before);
    vec![
        if base { "base".to_owned() } else { summary.iteration.to_string() },
        count(summary.candidates),
        count(summary.admitted),
        count(summary.refined),
        shown(summary.p_hat_mean, |mean| format!("{mean:.3}")),
        shown(summary.solve_rate, text::percent),
        shown(summary.solve_low.zip(summary.solve_high), |(low, high)| {
            format!("{} - {}", text::percent(low), text::percent(high))
        }),
        shown(change, text::points),
        shown(summary.entropy, |entropy| format!("{entropy:.3}")),
        shown(summary.tokens_mean, |tokens| format!("{tokens:.1}")),
        shown(summary.kept_share, text::percent),
        rejections(summary.rejected.iter().map(|(reason, count)| (reason.as_str(), *count))),
    ]
}

/// `too hard 120, too easy 40`: the most frequent first.
pub(super) fn rejections<'a>(counts: impl IntoIterator<Item = (&'a str, u32)>) -> String {
    let mut reasons: Vec<(&str, u32)> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
    reasons.sort_by_key(|&(reason, count)| (std::cmp::Reverse(count), reason));
    let parts: Vec<String> =
        reasons.into_iter().map(|(reason, count)| format!("{} {count}", reason.replace('_', " "))).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::samples;

    #[test]
    fn every_figure_of_an_iteration_has_its_column() {
        insta::assert_snapshot!(iterations(&samples::run().iterations));
    }

    #[test]
    fn an_iteration_under_way_has_dashes_for_what_is_not_known() {
        let summary = IterationSummary { iteration: 1, candidates: 7, ..IterationSummary::default() };
        let table = iterations(&[summary]);
        let cells: Vec<&str> = table.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(cells, ["1", "7", "0", "0", "-", "-", "-", "-", "-", "-", "-", "-"]);
    }
}
