//! One task or candidate.

use tadpole_kernel::event::{Direction, Grade, Purpose};
use tadpole_systems::analysis::{Episode, Look, TaskStory};

use crate::table::{Align, layout};
use crate::text::{self, indented};

pub(super) fn text(story: &TaskStory) -> String {
    let mut parts = vec![heading(story), format!("statement\n{}", indented(&story.statement))];
    for (path, content) in &story.files {
        parts.push(format!("{path}\n{}", indented(content)));
    }
    parts.push(format!("gold patch\n{}", indented(&story.gold)));
    for (path, content) in &story.hidden {
        parts.push(format!("hidden: {path}\n{}", indented(content)));
    }
    parts.push(tests(story));
    if !story.trajectories.is_empty() {
        parts.push(format!("trajectories\n{}", indented(&episodes(&story.trajectories))));
    }
    parts.join("\n")
}

fn heading(story: &TaskStory) -> String {
    let TaskStory { candidate, task, set, iteration, step, digest, origin, .. } = story;
    let mut lines = vec![match (candidate, task, set) {
        (_, Some(task), Some(set)) => format!("task {task}, held out in {set}, drawn in step {step}"),
        (Some(candidate), task, _) => {
            let admitted = task.map(|task| format!(", task {task}")).unwrap_or_default();
            format!("candidate {candidate}{admitted}, of iteration {iteration}, made in step {step}")
        }
        _ => format!("made in step {step}"),
    }];
    lines.push(format!("digest     {digest}"));
    lines.push(format!(
        "origin     {} seed {}, stratum {}, level {}, {} in {}",
        origin.generator,
        origin.seed,
        origin.stratum,
        origin.level,
        text::counted(u64::from(origin.functions), "function"),
        text::counted(u64::from(origin.modules), "module"),
    ));
    lines.push(format!("fault      {} in {}", origin.operators.join(", "), origin.templates.join(", ")));
    if let Some(refined) = &story.refined {
        let way = match refined.direction {
            Direction::Easier => "easier",
            Direction::Harder => "harder",
        };
        lines.push(format!("refined    from {}, to be {way}, depth {}", refined.parent, refined.depth));
    }
    for Look { look, step, passed, sampled } in &story.looks {
        lines.push(format!("look {look}     {passed} of {sampled} passed (step {step})"));
    }
    let successors: Vec<String> = story.successors.iter().map(ToString::to_string).collect();
    if !successors.is_empty() {
        lines.push(format!("successor  {}", successors.join(", ")));
    }
    if let Some(outcome) = &story.outcome {
        lines.push(format!("outcome    {}", outcome.replace('_', " ")));
    }
    lines.join("\n") + "\n"
}

fn tests(story: &TaskStory) -> String {
    let list = |name: &str, ids: &[String]| {
        let ids = if ids.is_empty() { "none".to_owned() } else { ids.join("\n") };
        format!("{name}\n{}", indented(&ids))
    };
    [list("fail to pass", &story.fail_to_pass), list("pass to pass", &story.pass_to_pass)].join("\n")
}

/// One line a trajectory.
fn episodes(episodes: &[Episode]) -> String {
    let columns = [
        ("id", Align::Right),
        ("for", Align::Left),
        ("iteration", Align::Right),
        ("version", Align::Right),
        ("visit", Align::Right),
        ("member", Align::Right),
        ("grade", Align::Left),
        ("exit", Align::Left),
        ("reward", Align::Right),
        ("tokens", Align::Right),
    ];
    let rows: Vec<Vec<String>> = episodes.iter().map(row).collect();
    layout(&columns, &rows)
}

fn row(episode: &Episode) -> Vec<String> {
    vec![
        episode.trajectory.to_string(),
        purpose(episode.purpose).to_owned(),
        episode.iteration.to_string(),
        episode.version.to_string(),
        episode.visit.to_string(),
        episode.member.to_string(),
        grade(episode.facts.grade).to_owned(),
        super::trajectory::exit(episode.exit).to_owned(),
        format!("{:.3}", episode.reward),
        episode.sampled.to_string(),
    ]
}

pub(in crate::engine::local) fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Calibration => "calibration",
        Purpose::Rollout => "rollout",
        Purpose::Evaluation => "evaluation",
    }
}

pub(in crate::engine::local) fn grade(grade: Grade) -> &'static str {
    match grade {
        Grade::Resolved => "resolved",
        Grade::Unresolved => "unresolved",
        Grade::Infra => "infrastructure",
        Grade::Exhausted => "exhausted",
        Grade::Watchdog => "watchdog",
        Grade::Aborted => "aborted",
    }
}
