//! One update, down to its tokens.

use tadpole_systems::analysis::UpdateStory;
use tadpole_systems::update::{InspectedGroup, InspectedMember, InspectedToken};

use super::tokens;
use crate::table::{Align, layout};
use crate::text::{self, indented};

/// Every token where `all`, otherwise those that were dropped.
pub(super) fn text(story: &UpdateStory, all: bool) -> String {
    let mut parts = vec![heading(story)];
    parts.extend(story.groups.iter().map(|group| group_text(group, all)));
    if !all {
        parts.push("every token: --tokens, or --json\n".to_owned());
    }
    parts.join("\n")
}

fn heading(story: &UpdateStory) -> String {
    let UpdateStory { step, update, weights, recomputed, groups } = story;
    let discarded = groups.iter().filter(|group| group.discarded).count();
    let kept = if update.tokens > 0 { update.kept as f64 / update.tokens as f64 } else { 1.0 };
    let mut lines = vec![
        format!(
            "update {} of iteration {}, step {step}: policy {}, version {}, trained on version {}",
            update.update,
            update.iteration,
            update.policy,
            update.update + 1,
            update.trained_on
        ),
        format!("groups     {}, of them {discarded} discarded", groups.len()),
        format!("tokens     {}, kept {} ({})", update.tokens, update.kept, text::percent(kept)),
        format!(
            "loss       {:.6}, gradient norm {:.4}, learning rate {}",
            update.loss, update.gradient_norm, update.learning_rate
        ),
        format!(
            "ratio      at most {:.4}; kl {:.6}, entropy {:.4} nats a token",
            update.ratio_max, update.kl, update.entropy
        ),
        format!("weights    {weights}"),
    ];
    if !recomputed {
        lines.push(tokens::FORGOTTEN.to_owned());
    }
    lines.join("\n") + "\n"
}

fn group_text(group: &InspectedGroup, all: bool) -> String {
    let discarded = if group.discarded { ": discarded, all its rewards are equal" } else { "" };
    let mut parts = vec![format!("task {}{discarded}\n", group.task)];
    let columns = [
        ("trajectory", Align::Right),
        ("raw", Align::Right),
        ("reward", Align::Right),
        ("A", Align::Right),
        ("tokens", Align::Right),
        ("dropped", Align::Right),
    ];
    let rows: Vec<Vec<String>> = group.members.iter().map(member_row).collect();
    parts.push(indented(&layout(&columns, &rows)));
    for member in &group.members {
        let shown: Vec<&InspectedToken> =
            member.tokens.iter().filter(|token| all || token.kept == Some(false)).collect();
        if !shown.is_empty() {
            parts.push(format!("  tokens of {}\n", member.trajectory));
            parts.push(indented(&indented(&tokens::table(&shown, member.advantage))));
        }
    }
    parts.concat()
}

fn member_row(member: &InspectedMember) -> Vec<String> {
    let dropped = member.tokens.iter().filter(|token| token.kept == Some(false)).count();
    let known = member.tokens.iter().all(|token| token.kept.is_some());
    vec![
        member.trajectory.to_string(),
        format!("{}", member.raw_reward),
        format!("{:.4}", member.reward),
        member.advantage.map_or_else(|| "-".to_owned(), |advantage| format!("{advantage:+.4}")),
        member.tokens.len().to_string(),
        if known { dropped.to_string() } else { "?".to_owned() },
    ]
}
