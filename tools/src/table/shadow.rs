//! What other rules would have made of a run's calibrations: a table a rule.

use tadpole_systems::analysis::shadow::{Ending, ShadowIteration};

use super::iterations::rejections;
use super::{Align, layout, shown};
use crate::engine::{ShadowReport, ShadowRule};
use crate::text;

const COLUMNS: &[(&str, Align)] = &[
    ("iteration", Align::Right),
    ("candidates", Align::Right),
    ("not made", Align::Right),
    ("unknown", Align::Right),
    ("admitted", Align::Right),
    ("filled", Align::Right),
    ("missing", Align::Right),
    ("shared", Align::Right),
    ("looks", Align::Right),
    ("wasted", Align::Right),
    ("trajectories", Align::Right),
    ("wasted", Align::Right),
    ("mean p-hat", Align::Right),
    ("ended by", Align::Left),
    ("rejected", Align::Left),
];

const LEGEND: &str = "\
Each iteration is decided again on the policy that was recorded for it, from its recorded looks alone.
not made   recorded candidates that the rule does not come to
unknown    candidates that the rule would refine in a way that was not recorded: unknown beyond this look, taken to yield no task
missing    tasks that the batch lacks where the rule would draw more candidates than were recorded
shared     tasks that are tasks of the recorded run, too
wasted     looks, and their trajectories, at candidates that became no task
";

/// The recorded rule first, then the others.
pub(crate) fn shadow(report: &ShadowReport) -> String {
    let rules: Vec<String> = report.rules.iter().map(rule).collect();
    format!("{}\n{LEGEND}", rules.join("\n"))
}

fn rule(shadow: &ShadowRule) -> String {
    let rows: Vec<Vec<String>> = shadow.iterations.iter().map(row).collect();
    format!("{}\n{}\n{}", shadow.rule, layout(COLUMNS, &rows), rates(&shadow.iterations))
}

fn row(tally: &ShadowIteration) -> Vec<String> {
    let of = |part: u32, all: u32| {
        let share = f64::from(part) / f64::from(all.max(1));
        format!("{part} ({})", text::percent(share))
    };
    vec![
        tally.iteration.to_string(),
        tally.candidates.to_string(),
        tally.not_made.to_string(),
        tally.unknown.to_string(),
        tally.admitted.to_string(),
        tally.filled.to_string(),
        tally.missing.to_string(),
        tally.shared.to_string(),
        tally.looks.to_string(),
        of(tally.looks_wasted, tally.looks),
        tally.trajectories.to_string(),
        of(tally.trajectories_wasted, tally.trajectories),
        shown(tally.p_hat_mean, |mean| format!("{mean:.3}")),
        match tally.ending {
            Ending::BatchFull => "batch full",
            Ending::BudgetSpent => "budget spent",
            Ending::RecordEnds => "end of record",
        }
        .to_owned(),
        rejections(tally.rejected.iter().map(|(reason, count)| (*reason, *count))),
    ]
}

/// How pass rates are distributed over all iterations.
fn rates(iterations: &[ShadowIteration]) -> String {
    let headings: Vec<String> = (0..9).map(|eighth| format!("{eighth}/8")).collect();
    let mut columns = vec![("p-hat", Align::Left)];
    columns.extend(headings.iter().map(|heading| (heading.as_str(), Align::Right)));
    let line = |name: &str, of: fn(&ShadowIteration) -> &[u32; 9]| {
        let total = |eighth: usize| iterations.iter().map(|it| of(it)[eighth]).sum::<u32>().to_string();
        std::iter::once(name.to_owned()).chain((0..9).map(total)).collect()
    };
    layout(&columns, &[line("candidates", |it| &it.candidate_rates), line("tasks", |it| &it.task_rates)])
}

#[cfg(test)]
mod tests {
    use crate::engine::samples;

    #[test]
    fn a_rule_has_a_table_and_its_pass_rates() {
        insta::assert_snapshot!(super::shadow(&samples::shadow()));
    }
}
