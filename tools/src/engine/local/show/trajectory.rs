//! One trajectory, turn by turn.

use tadpole_kernel::event::Exit;
use tadpole_systems::analysis::{Part, TrajectoryStory};

use super::task::{grade, purpose};
use crate::text::{counted, indented};

pub(super) fn text(story: &TrajectoryStory) -> String {
    let mut parts = vec![heading(story)];
    let several = story.segments.len() > 1;
    for (index, segment) in story.segments.iter().enumerate() {
        if several {
            parts.push(format!("history {index}\n"));
        }
        let mut turn = 0;
        for part in segment {
            parts.push(format!("{}\n{}", title(part, &mut turn), indented(&part.text)));
        }
    }
    if story.patch.is_empty() {
        parts.push("it changed nothing\n".to_owned());
    } else {
        parts.push(format!("what it changed\n{}", indented(&story.patch)));
    }
    parts.join("\n")
}

fn heading(story: &TrajectoryStory) -> String {
    let TrajectoryStory { trajectory, subject, step, iteration, version, visit, member, facts, .. } = story;
    let yes = |fact: bool| if fact { "yes" } else { "no" };
    format!(
        "trajectory {trajectory} on {subject}, for {}, step {step}\n\
         played     in iteration {iteration} by version {version}, visit {visit}, member {member}\n\
         ended      {}, after {} and {}\n\
         grade      {}; ran tests: {}, tampered: {}, leaked: {}\n\
         reward     {} ({} before the length term)\n\
         entropy    {:.4} nats a token\n",
        purpose(story.purpose),
        exit(story.exit),
        counted(u64::from(story.tool_calls), "tool call"),
        counted(u64::from(story.sampled), "sampled token"),
        grade(facts.grade),
        yes(facts.ran_tests),
        yes(facts.tampered),
        yes(facts.leaked),
        story.reward,
        story.raw_reward,
        story.entropy,
    )
}

/// `turn 2, by the policy: 31 tokens, log-probability -4.1`; `context: 210 tokens`.
fn title(part: &Part, turn: &mut u32) -> String {
    let tokens = counted(part.tokens.len() as u64, "token");
    if !part.sampled {
        let what = if part.start == 0 { "prompt" } else { "observation" };
        return format!("{what}: {tokens}");
    }
    *turn += 1;
    let log_prob: f64 = part.tokens.iter().filter_map(|token| token.log_prob).map(f64::from).sum();
    format!("turn {turn}, by the policy: {tokens}, log-probability {log_prob:.3}")
}

pub(super) fn exit(exit: Exit) -> &'static str {
    match exit {
        Exit::Final => "final answer",
        Exit::MaxTurns => "turn limit",
        Exit::MaxContext => "context limit",
        Exit::MaxTurnTokens => "turn cut off",
        Exit::Infra => "infrastructure",
    }
}
