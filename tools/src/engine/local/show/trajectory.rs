//! One trajectory, turn by turn and token by token.

use serde::Serialize;
use tadpole_kernel::event::{Exit, Purpose};
use tadpole_systems::analysis::{Lesson, Part, TrajectoryStory};
use tadpole_systems::update::InspectedToken;

use super::task::{grade, purpose};
use super::tokens;
use crate::text::{counted, indented};

/// Every sampled token where `all`, otherwise those that were dropped.
pub(super) fn text(told: &Told, all: bool) -> String {
    let story = &told.story;
    let mut parts = vec![heading(story), taught(told)];
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
    let mut hidden = false;
    for (title, tokens, advantage) in tables(told) {
        let shown: Vec<&InspectedToken> =
            tokens.iter().filter(|token| all || token.kept == Some(false)).collect();
        hidden |= shown.len() < tokens.len();
        if !shown.is_empty() {
            parts.push(format!("{title}\n{}", indented(&tokens::table(&shown, advantage))));
        }
    }
    if hidden {
        parts.push("every token: --tokens, or --json\n".to_owned());
    }
    parts.join("\n")
}

/// A trajectory with what it taught.
#[derive(Clone, Debug, Serialize)]
pub(in crate::engine::local) struct Told {
    #[serde(flatten)]
    pub(in crate::engine::local) story: TrajectoryStory,
    /// One for each update that trained on it or discarded its group.
    pub(in crate::engine::local) lessons: Vec<Lesson>,
}

/// The sampled tokens in each update, with a title and the advantage; once, as they were sampled, where none trained on them.
pub(in crate::engine::local) fn tables(told: &Told) -> Vec<(String, Vec<InspectedToken>, Option<f32>)> {
    let trained: Vec<_> = told
        .lessons
        .iter()
        .filter(|lesson| !lesson.tokens.is_empty())
        .map(|lesson| {
            let title = format!("tokens in update {} of iteration {}", lesson.update, lesson.iteration);
            (title, lesson.tokens.clone(), lesson.advantage)
        })
        .collect();
    if trained.is_empty() {
        return vec![("tokens as they were sampled".to_owned(), sampled(&told.story), None)];
    }
    trained
}

/// The sampled tokens of a trajectory that nothing was learnt from.
fn sampled(story: &TrajectoryStory) -> Vec<InspectedToken> {
    let parts = story.segments.iter().flatten().filter(|part| part.sampled);
    parts
        .flat_map(|part| {
            part.tokens.iter().zip(part.start..).filter_map(|(token, position)| {
                Some(InspectedToken {
                    position,
                    id: token.id,
                    text: token.text.clone(),
                    q: token.q?,
                    p: None,
                    ratio: None,
                    kept: None,
                    dropped: None,
                })
            })
        })
        .collect()
}

/// What it taught, a line or two an update.
pub(in crate::engine::local) fn taught(Told { story, lessons }: &Told) -> String {
    if lessons.is_empty() {
        let why = match story.purpose {
            Purpose::Calibration => "it was played to calibrate a candidate",
            Purpose::Evaluation => "it was played to measure a policy",
            Purpose::Rollout => "no update has trained on it yet",
        };
        return format!("taught     nothing: {why}\n");
    }
    lessons.iter().map(lesson_text).collect()
}

fn lesson_text(lesson: &Lesson) -> String {
    let place = format!("update {} of iteration {}, step {}", lesson.update, lesson.iteration, lesson.step);
    if lesson.discarded {
        return format!("taught     nothing in {place}: all rewards of its group are equal\n");
    }
    let Some(advantage) = lesson.advantage else {
        return format!("taught     nothing in {place}: it is no part of the baseline\n");
    };
    let dropped = lesson.tokens.iter().filter(|token| token.kept == Some(false)).count();
    let tokens = counted(lesson.tokens.len() as u64, "token");
    let line = format!("taught     in {place}: A = {advantage:+.4}, {tokens}");
    let weights = lesson.weights;
    if lesson.recomputed {
        format!("{line}, {dropped} dropped\nweights    {weights}\n")
    } else {
        format!("{line}\nweights    {weights}\n{}\n", tokens::FORGOTTEN)
    }
}

pub(in crate::engine::local) fn heading(story: &TrajectoryStory) -> String {
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

pub(in crate::engine::local) fn exit(exit: Exit) -> &'static str {
    match exit {
        Exit::Final => "final answer",
        Exit::MaxTurns => "turn limit",
        Exit::MaxContext => "context limit",
        Exit::MaxTurnTokens => "turn cut off",
        Exit::Infra => "infrastructure",
    }
}
