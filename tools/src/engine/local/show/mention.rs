//! What events mention: in a few words, by id, and what can be looked at more closely.

use tadpole_kernel::event::{Event, TrajectoryFinishedV1};
use tadpole_kernel::id::StableId;
use tadpole_systems::analysis::rejection_name;

use super::task::{grade, purpose};
use crate::engine::Subject;

/// What an event is about, in a few words, with the ids to ask for more.
pub(in crate::engine::local) fn about(event: &Event) -> String {
    match event {
        Event::RunStarted(it) => format!("run {}, seed {}", it.run, it.seed),
        Event::PolicyPublished(it) => {
            format!("policy {} of iteration {}, weights {}", it.policy, it.iteration, it.weights)
        }
        Event::TaskHeldOut(it) => format!("task {} of {}", it.task, it.set),
        Event::IterationStarted(it) => format!("iteration {} from policy {}", it.iteration, it.policy),
        Event::CandidateGenerated(it) => {
            let from = it.refined.as_ref().map(|refined| format!(", refined from {}", refined.parent));
            format!("candidate {}, draw {}{}", it.candidate, it.draw, from.unwrap_or_default())
        }
        Event::CandidateValidated(it) => format!("candidate {}", it.candidate),
        Event::CandidateRejected(it) => {
            format!("candidate {}: {}", it.candidate, rejection_name(it.reason).replace('_', " "))
        }
        Event::CandidateCalibrated(it) => {
            format!("candidate {}, look {}: {} of {} passed", it.candidate, it.look, it.passed, it.sampled)
        }
        Event::TaskAdmitted(it) => {
            let band = if it.in_band { "" } else { ", out of band" };
            format!(
                "task {} of candidate {}: {} of {} passed{band}",
                it.task, it.candidate, it.passed, it.sampled
            )
        }
        Event::BatchClosed(it) => format!("{} tasks in iteration {}", it.tasks.len(), it.iteration),
        Event::TrajectoryFinished(it) => trajectory(it),
        Event::UpdateApplied(it) => {
            let (update, iteration) = (it.update, it.iteration);
            format!(
                "update {update} of iteration {iteration} made policy {}; {} of {} tokens kept",
                it.policy, it.kept, it.tokens
            )
        }
        Event::UpdateRefused(it) => {
            format!("update {} of iteration {}: {}", it.update, it.iteration, it.reason)
        }
        Event::EvaluationFinished(it) => {
            let played = u64::from(it.tasks) * u64::from(it.samples);
            format!("{} at temperature {}: {} of {played} solved", it.set, it.temperature, it.solved)
        }
        Event::EffectRecorded(it) => format!("{}: request {}, answer {}", it.kind, it.request, it.answer),
        Event::IterationFinished(it) => format!("iteration {}", it.iteration),
        Event::RunFinished(it) => format!("policy {}", it.policy),
        Event::RunForked(it) => format!("run {}, from step {} of {}", it.run, it.step, it.parent),
    }
}

fn trajectory(it: &TrajectoryFinishedV1) -> String {
    format!(
        "trajectory {} on {}, {}, visit {}, member {}: {}, reward {}",
        it.trajectory,
        it.subject,
        purpose(it.purpose),
        it.visit,
        it.member,
        grade(it.facts.grade),
        it.reward
    )
}

/// Every id in an event, in field order.
pub(in crate::engine::local) fn ids(event: &Event) -> Vec<u64> {
    let ids: Vec<StableId> = match event {
        Event::RunStarted(_)
        | Event::RunForked(_)
        | Event::EvaluationFinished(_)
        | Event::EffectRecorded(_)
        | Event::UpdateRefused(_)
        | Event::IterationFinished(_) => Vec::new(),
        Event::PolicyPublished(it) => vec![it.policy],
        Event::TaskHeldOut(it) => vec![it.task],
        Event::IterationStarted(it) => vec![it.policy],
        Event::CandidateGenerated(it) => {
            std::iter::once(it.candidate).chain(it.refined.as_ref().map(|refined| refined.parent)).collect()
        }
        Event::CandidateValidated(it) => vec![it.candidate],
        Event::CandidateRejected(it) => vec![it.candidate],
        Event::CandidateCalibrated(it) => vec![it.candidate],
        Event::TaskAdmitted(it) => vec![it.task, it.candidate],
        Event::BatchClosed(it) => it.tasks.clone(),
        Event::TrajectoryFinished(it) => vec![it.trajectory, it.subject],
        Event::UpdateApplied(it) => {
            let groups = it.groups.iter();
            let grouped =
                groups.flat_map(|group| std::iter::once(group.task).chain(group.trajectories.clone()));
            std::iter::once(it.policy).chain(grouped).collect()
        }
        Event::RunFinished(it) => vec![it.policy],
    };
    ids.into_iter().map(|id| id.0).collect()
}

/// What an event lets one look at more closely.
pub(in crate::engine::local) fn subject(event: &Event) -> Option<Subject> {
    match event {
        Event::PolicyPublished(it) => Some(Subject::Policy(it.policy.0)),
        Event::TaskHeldOut(it) => Some(Subject::Task(it.task.0)),
        Event::IterationStarted(it) => Some(Subject::Policy(it.policy.0)),
        Event::CandidateGenerated(it) => Some(Subject::Task(it.candidate.0)),
        Event::CandidateValidated(it) => Some(Subject::Task(it.candidate.0)),
        Event::CandidateRejected(it) => Some(Subject::Task(it.candidate.0)),
        Event::CandidateCalibrated(it) => Some(Subject::Task(it.candidate.0)),
        Event::TaskAdmitted(it) => Some(Subject::Task(it.task.0)),
        Event::TrajectoryFinished(it) => Some(Subject::Trajectory { id: it.trajectory.0, tokens: false }),
        Event::UpdateApplied(it) => {
            Some(Subject::Update { iteration: it.iteration.0, update: it.update, tokens: true })
        }
        Event::RunFinished(it) => Some(Subject::Policy(it.policy.0)),
        Event::RunStarted(_)
        | Event::RunForked(_)
        | Event::BatchClosed(_)
        | Event::EvaluationFinished(_)
        | Event::EffectRecorded(_)
        | Event::UpdateRefused(_)
        | Event::IterationFinished(_) => None,
    }
}
