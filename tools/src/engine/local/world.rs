//! What a world holds, as tables.

use std::ops::Range;

use tadpole_kernel::id::StableId;
use tadpole_kernel::world::{
    Candidate, Phase, Policy, Progress, Status, Task, TaskSource, Trajectory, World, WorldView,
};
use tadpole_systems::analysis::rejection_name;

use super::show::{exit, grade, purpose};
use crate::engine::{Kind, Sheet, SheetRow, Subject};
use crate::text;

/// A part of one table, the newest first.
pub(super) fn sheet(world: &World, kind: Kind, rows: Range<usize>) -> Sheet {
    let view = world.view();
    let counts =
        [view.count::<Task>(), view.count::<Candidate>(), view.count::<Trajectory>(), view.count::<Policy>()];
    let part = |rows: &mut dyn Iterator<Item = SheetRow>| -> Vec<SheetRow> { rows.collect() };
    let (skip, take) = (rows.start, rows.len());
    let (columns, found) = match kind {
        Kind::Tasks => {
            let rows = view.tasks().rev().skip(skip).take(take);
            (TASK, part(&mut rows.map(|(id, task)| task_row(id, task))))
        }
        Kind::Candidates => {
            let rows = view.candidates().rev().skip(skip).take(take);
            (CANDIDATE, part(&mut rows.map(|(id, candidate)| candidate_row(id, candidate))))
        }
        Kind::Trajectories => {
            let rows = view.trajectories().rev().skip(skip).take(take);
            (TRAJECTORY, part(&mut rows.map(|(id, trajectory)| trajectory_row(id, trajectory))))
        }
        Kind::Policies => {
            let rows = view.policies().rev().skip(skip).take(take);
            (POLICY, part(&mut rows.map(|(id, policy)| policy_row(&view, id, policy))))
        }
    };
    Sheet {
        stands: stands(view.progress()),
        counts: Kind::ALL.into_iter().zip(counts).collect(),
        columns,
        range: skip..skip + found.len(),
        rows: found,
    }
}

/// Where the run stands, in words.
fn stands(progress: &Progress) -> String {
    let iteration = format!("iteration {} of {}", progress.iteration, progress.iterations);
    match progress.phase {
        Phase::Opening => "opening".to_owned(),
        Phase::Evaluating => format!("{iteration}, measuring"),
        Phase::Curriculum => format!(
            "{iteration}, choosing tasks: {}, {} open, {} in the batch",
            text::counted(u64::from(progress.draws), "draw"),
            progress.open.len(),
            progress.batch.len()
        ),
        Phase::Training => format!(
            "{iteration}, training on {}: {}",
            text::counted(progress.batch.len() as u64, "task"),
            text::counted(u64::from(progress.updates), "update")
        ),
        Phase::Refused => format!("{iteration}, an update was refused"),
        Phase::Finished => "finished".to_owned(),
    }
}

const TASK: &[&str] = &["id", "from", "k/N", "digest"];

fn task_row(id: StableId, task: &Task) -> SheetRow {
    let (from, rate) = match &task.source {
        TaskSource::HeldOut { set } => (format!("held out, {set}"), "-".to_owned()),
        TaskSource::Admitted { iteration, candidate, passed, sampled, in_band } => {
            let way = if *in_band { "candidate" } else { "filled in, candidate" };
            (format!("iteration {iteration}, {way} {candidate}"), format!("{passed}/{sampled}"))
        }
    };
    let digest = short(&task.digest.to_hex());
    SheetRow { cells: vec![id.to_string(), from, rate, digest], subject: Subject::Task(id.0) }
}

const CANDIDATE: &[&str] = &["id", "iteration", "draw", "from", "looks", "status"];

fn candidate_row(id: StableId, candidate: &Candidate) -> SheetRow {
    let from = candidate.refined.as_ref().map(|it| format!("{}, depth {}", it.parent, it.depth));
    let looks: Vec<String> = candidate.looks.iter().map(|(k, n)| format!("{k}/{n}")).collect();
    let status = match (candidate.status, candidate.succeeded_by) {
        (Status::Generated, _) => "generated".to_owned(),
        (Status::Validated, Some(successor)) => format!("refined to {successor}"),
        (Status::Validated, None) => "validated".to_owned(),
        (Status::Admitted(task), _) => format!("task {task}"),
        (Status::Rejected(reason), _) => rejection_name(reason).replace('_', " "),
    };
    let cells = vec![
        id.to_string(),
        candidate.iteration.to_string(),
        candidate.draw.to_string(),
        from.unwrap_or_else(|| "-".to_owned()),
        if looks.is_empty() { "-".to_owned() } else { looks.join(" + ") },
        status,
    ];
    SheetRow { cells, subject: Subject::Task(id.0) }
}

const TRAJECTORY: &[&str] =
    &["id", "on", "for", "iteration", "version", "visit", "member", "grade", "exit", "reward", "tokens"];

fn trajectory_row(id: StableId, trajectory: &Trajectory) -> SheetRow {
    let cells = vec![
        id.to_string(),
        trajectory.subject.to_string(),
        purpose(trajectory.purpose).to_owned(),
        trajectory.iteration.to_string(),
        trajectory.version.to_string(),
        trajectory.visit.to_string(),
        trajectory.member.to_string(),
        grade(trajectory.facts.grade).to_owned(),
        exit(trajectory.exit).to_owned(),
        format!("{:.3}", trajectory.reward),
        trajectory.sampled.to_string(),
    ];
    SheetRow { cells, subject: Subject::Trajectory { id: id.0, tokens: false } }
}

const POLICY: &[&str] = &["id", "iteration", "version", "published", "weights", "solved"];

fn policy_row(view: &WorldView<'_>, id: StableId, policy: &Policy) -> SheetRow {
    let first = view.evaluation(id).and_then(|evaluation| evaluation.results.first());
    let solved = first.map(|it| {
        let all = f64::from(it.tasks) * f64::from(it.samples);
        format!("{} of {}", text::percent(f64::from(it.solved) / all.max(1.0)), it.set)
    });
    let cells = vec![
        id.to_string(),
        policy.iteration.to_string(),
        policy.version.to_string(),
        if policy.published { "yes" } else { "no" }.to_owned(),
        short(&policy.weights.to_hex()),
        solved.unwrap_or_else(|| "-".to_owned()),
    ];
    SheetRow { cells, subject: Subject::Policy(id.0) }
}

/// The beginning of a digest, enough to tell it from others.
fn short(digest: &str) -> String {
    digest.get(..12).unwrap_or(digest).to_owned()
}
