//! One policy.

use tadpole_systems::analysis::{Played, PolicyStory};

use super::task::purpose;
use crate::table::{self, Align, layout};
use crate::text::{counted, indented};

pub(super) fn text(story: &PolicyStory) -> String {
    let mut parts = vec![heading(story)];
    if !story.played.is_empty() {
        let columns = [
            ("iteration", Align::Right),
            ("version", Align::Right),
            ("for", Align::Left),
            ("trajectories", Align::Right),
        ];
        let rows: Vec<Vec<String>> = story.played.iter().map(row).collect();
        parts.push(format!("played\n{}", indented(&layout(&columns, &rows))));
    }
    if !story.evaluations.is_empty() {
        parts.push(format!("measured\n{}", indented(&table::evaluations(&story.evaluations))));
    }
    parts.join("\n")
}

fn heading(story: &PolicyStory) -> String {
    let PolicyStory { policy, iteration, step, weights, kept, update, averaged, .. } = story;
    let mut lines = vec![format!("policy {policy}, of iteration {iteration}, made in step {step}")];
    if let Some(update) = update {
        lines.push(format!(
            "made by    update {} of iteration {}, on trajectories of version {}; {} of {} kept",
            update.update,
            update.iteration,
            update.trained_on,
            update.kept,
            counted(update.tokens, "token")
        ));
    }
    match averaged {
        Some(1) if *iteration == tadpole_kernel::id::Iteration(0) => {
            lines.push("published  as the base".to_owned());
        }
        Some(1) => lines.push("published  as the last version of its iteration".to_owned()),
        Some(averaged) => {
            lines.push(format!("published  as the mean of {}", counted(u64::from(*averaged), "version")));
        }
        None => {}
    }
    let there = if *kept { "" } else { "\n           were dropped when the iteration ended" };
    lines.push(format!("weights    {weights}{there}"));
    lines.join("\n") + "\n"
}

fn row(played: &Played) -> Vec<String> {
    vec![
        played.iteration.to_string(),
        played.version.to_string(),
        purpose(played.purpose).to_owned(),
        played.trajectories.to_string(),
    ]
}
