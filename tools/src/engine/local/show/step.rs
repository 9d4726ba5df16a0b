//! One step: what was decided in it.

use serde_json::json;
use tadpole_kernel::event::{DecodeError, Event, TrajectoryFinishedV1};
use tadpole_kernel::log::{Commit, Group};
use tadpole_systems::analysis::rejection_name;

use super::task::{grade, purpose};
use crate::engine::Shown;
use crate::table::{Align, layout};

pub(super) fn shown(group: &Group) -> Result<Shown, DecodeError> {
    let commit = group.commit();
    let Commit { step, count, seals, chain, world, draws, first } = commit;
    let events = group.events().collect::<Result<Vec<Event>, DecodeError>>()?;
    let sequences = first.0..;
    let rows: Vec<Vec<String>> = sequences
        .clone()
        .zip(&events)
        .map(|(sequence, event)| vec![sequence.to_string(), event.name().to_owned(), about(event)])
        .collect();
    let table = layout(&[("event", Align::Right), ("name", Align::Left), ("what", Align::Left)], &rows);
    let sealed = if *seals { ", the last of its segment" } else { "" };
    let (streams, values) = (draws.streams, draws.values);
    let text = format!(
        "step {step}, {count} events{sealed}\nchain  {chain}\nworld  {world}\ndraws  {values} values from {streams} streams\n\n{table}"
    );
    let events: Vec<_> = sequences
        .zip(&events)
        .map(|(sequence, event)| json!({ "sequence": sequence, "name": event.name(), "what": about(event) }))
        .collect();
    Ok(Shown { text, json: json!({ "commit": commit, "events": events }) })
}

/// What an event is about, in a few words, with the ids to ask for more.
fn about(event: &Event) -> String {
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
