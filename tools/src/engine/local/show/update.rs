//! One update, down to its tokens.

use tadpole_scenarios::schema::{Divergence, Scenario};
use tadpole_systems::analysis::UpdateStory;
use tadpole_systems::update::{InspectedGroup, InspectedMember, InspectedToken};

use crate::table::{Align, layout};
use crate::text::{self, indented};

/// Every token where `all`, otherwise those that were dropped.
pub(super) fn text(story: &UpdateStory, scenario: &Scenario, all: bool) -> String {
    let mut parts = vec![heading(story)];
    parts.extend(story.groups.iter().map(|group| group_text(group, scenario, all)));
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
        lines.push(
            "           were dropped when the iteration ended, so p, ratio and the fate of a token are not known;\n           a run with log.keep = \"all\" keeps them"
                .to_owned(),
        );
    }
    lines.join("\n") + "\n"
}

fn group_text(group: &InspectedGroup, scenario: &Scenario, all: bool) -> String {
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
            let tokens = tokens(&shown, member.advantage.unwrap_or(0.0), scenario);
            parts.push(indented(&indented(&tokens)));
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

fn tokens(tokens: &[&InspectedToken], advantage: f32, scenario: &Scenario) -> String {
    let columns = [
        ("position", Align::Right),
        ("token", Align::Left),
        ("q", Align::Right),
        ("p", Align::Right),
        ("ratio", Align::Right),
        ("A", Align::Right),
        ("fate", Align::Left),
    ];
    let rows: Vec<Vec<String>> = tokens
        .iter()
        .map(|token| {
            let number =
                |value: Option<f32>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.5}"));
            vec![
                token.position.to_string(),
                format!("{:?}", token.text),
                format!("{:.5}", token.q),
                number(token.p),
                number(token.ratio),
                format!("{advantage:+.4}"),
                fate(token, advantage, scenario),
            ]
        })
        .collect();
    layout(&columns, &rows)
}

/// Kept, or dropped and why.
fn fate(token: &InspectedToken, advantage: f32, scenario: &Scenario) -> String {
    let (Some(p), Some(kept)) = (token.p, token.kept) else { return "-".to_owned() };
    if kept {
        return "kept".to_owned();
    }
    let update = &scenario.update;
    let rising = advantage > 0.0;
    let sign = if rising { "A > 0" } else { "A <= 0" };
    match update.divergence {
        Divergence::Tv if rising => {
            format!("dropped: p - q = {:+.4} > {} with {sign}", p - token.q, update.delta_high)
        }
        Divergence::Tv => format!("dropped: p - q = {:+.4} < -{} with {sign}", p - token.q, update.delta_low),
        Divergence::Kl => {
            let bound = if rising { update.delta_high } else { update.delta_low };
            format!("dropped: kl > {bound} with p {} q and {sign}", if rising { '>' } else { '<' })
        }
    }
}
