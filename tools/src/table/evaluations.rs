//! The table of measurements.

use tadpole_systems::analysis::EvaluationSummary;

use super::{Align, layout, shown};
use crate::text;

/// The table of measurements, by set, way of sampling, and policy.
pub(crate) fn evaluations(summaries: &[EvaluationSummary]) -> String {
    let mut ks: Vec<u32> = summaries.iter().flat_map(|summary| summary.pass_at.keys().copied()).collect();
    ks.sort_unstable();
    ks.dedup();
    // pass@1 is the solve rate.
    ks.retain(|k| *k > 1);
    let pass: Vec<String> = ks.iter().map(|k| format!("pass@{k}")).collect();
    let mut columns = vec![
        ("set", Align::Left),
        ("sampling", Align::Left),
        ("policy", Align::Right),
        ("tasks", Align::Right),
        ("samples", Align::Right),
        ("solved", Align::Right),
        ("95% interval", Align::Right),
    ];
    columns.extend(pass.iter().map(|heading| (heading.as_str(), Align::Right)));
    let mut ordered: Vec<(usize, &EvaluationSummary)> = Vec::new();
    for summary in summaries {
        let first = summaries.iter().position(|other| other.set == summary.set).unwrap_or(0);
        ordered.push((first, summary));
    }
    // Sampled before greedy, the base before what came of it.
    ordered.sort_by_key(|(set, summary)| (*set, summary.temperature == 0.0, summary.iteration));
    let rows: Vec<Vec<String>> = ordered.into_iter().map(|(_, summary)| row(summary, &ks)).collect();
    layout(&columns, &rows)
}

fn row(summary: &EvaluationSummary, ks: &[u32]) -> Vec<String> {
    let sampling =
        if summary.temperature == 0.0 { "greedy".to_owned() } else { format!("T = {}", summary.temperature) };
    let policy = if summary.iteration == 0 { "base".to_owned() } else { summary.iteration.to_string() };
    let mut row = vec![
        summary.set.clone(),
        sampling,
        policy,
        summary.tasks.to_string(),
        summary.samples.to_string(),
        text::percent(summary.solve_rate),
        format!("{} - {}", text::percent(summary.solve_low), text::percent(summary.solve_high)),
    ];
    row.extend(ks.iter().map(|k| shown(summary.pass_at.get(k), |value| text::percent(*value))));
    row
}

#[cfg(test)]
mod tests {
    use crate::engine::samples;

    #[test]
    fn base_and_final_stand_beside_one_another() {
        insta::assert_snapshot!(super::evaluations(&samples::evaluations()));
    }
}
