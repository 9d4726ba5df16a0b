//! Applying an event: the only code that inserts or changes a component.
//!
//! Total and pure: any event in any world changes what it can, panics never, and reads nothing but the world.

use std::sync::Arc;

use super::component::{
    Candidate, Content, Evaluation, IterationFunnel, Phase, Policy, Progress, Status, Task, TaskSource,
    Trajectory, Update,
};
use super::history::History;
use super::index::Index;
use super::view::RUN;
use super::{Funnel, World};
use crate::event::{
    BatchClosedV1, CandidateCalibratedV1, CandidateGeneratedV1, CandidateRejectedV1, CandidateValidatedV1,
    EvaluationFinishedV1, Event, IterationFinishedV1, IterationStartedV1, PolicyPublishedV1, Purpose,
    RunForkedV1, RunStartedV1, TaskAdmittedV1, TaskHeldOutV1, TrajectoryFinishedV1, UpdateAppliedV1,
};
use crate::id::{Digest, Iteration, StableId, Version};

pub(super) fn apply(world: &mut World, event: Event) {
    match event {
        Event::RunStarted(event) => run_started(world, &event),
        Event::PolicyPublished(event) => policy_published(world, &event),
        Event::TaskHeldOut(event) => task_held_out(world, event),
        Event::IterationStarted(event) => iteration_started(world, &event),
        Event::CandidateGenerated(event) => candidate_generated(world, event),
        Event::CandidateValidated(event) => candidate_validated(world, event),
        Event::CandidateRejected(event) => candidate_rejected(world, &event),
        Event::CandidateCalibrated(event) => candidate_calibrated(world, &event),
        Event::TaskAdmitted(event) => task_admitted(world, &event),
        Event::BatchClosed(event) => batch_closed(world, event),
        Event::TrajectoryFinished(event) => trajectory_finished(world, event),
        Event::UpdateApplied(event) => update_applied(world, event),
        Event::UpdateRefused(_) => progress(world, |run| run.phase = Phase::Refused),
        Event::EvaluationFinished(event) => evaluation_finished(world, event),
        // The answer lies in the effects store; the world learns of it through the events that used it.
        Event::EffectRecorded(_) => {}
        Event::IterationFinished(event) => iteration_finished(world, &event),
        Event::RunFinished(_) => progress(world, |run| run.phase = Phase::Finished),
        Event::RunForked(event) => run_forked(world, &event),
    }
}

fn progress(world: &mut World, change: impl FnOnce(&mut Progress)) {
    world.edit(RUN, change);
}

/// Ids are given by whoever decides, one after the other; the next one lies past every id seen.
fn seen(run: &mut Progress, id: StableId) {
    run.next_id = run.next_id.max(id.next());
}

fn funnel(world: &mut World, iteration: Iteration, change: impl FnOnce(&mut IterationFunnel)) {
    world.edit(RUN, |funnel: &mut Funnel| change(funnel.iterations.entry(iteration.0).or_default()));
}

fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

fn run_started(world: &mut World, event: &RunStartedV1) {
    let &RunStartedV1 { run, scenario: _, arithmetic: _, seed, iterations } = event;
    progress(world, |progress| {
        progress.run = run;
        progress.seed = seed;
        progress.iterations = iterations;
        progress.phase = Phase::Opening;
    });
}

fn run_forked(world: &mut World, event: &RunForkedV1) {
    let &RunForkedV1 { run, scenario: _, arithmetic: _, iterations, parent: _, step: _, chain: _ } = event;
    progress(world, |progress| {
        progress.run = run;
        progress.iterations = iterations;
    });
}

fn policy_published(world: &mut World, event: &PolicyPublishedV1) {
    let &PolicyPublishedV1 { policy, iteration, weights, averaged: _ } = event;
    let state = world.get::<Policy>(policy).and_then(|known| known.state);
    world.put(policy, Policy { iteration, version: Version(0), weights, state, published: true });
    progress(world, |run| {
        seen(run, policy);
        run.policy = Some(policy);
        run.versions.clear();
        run.versions.push(policy);
        run.evaluated.clear();
        run.phase = Phase::Evaluating;
    });
}

fn task_held_out(world: &mut World, event: TaskHeldOutV1) {
    let TaskHeldOutV1 { task, set, content, fail_to_pass, pass_to_pass } = event;
    world.put(task, Task { digest: content.digest, source: TaskSource::HeldOut { set } });
    world.put(task, Content { content: Arc::new(content), fail_to_pass, pass_to_pass });
    progress(world, |run| seen(run, task));
}

fn iteration_started(world: &mut World, event: &IterationStartedV1) {
    let &IterationStartedV1 { iteration, policy } = event;
    progress(world, |run| {
        run.iteration = iteration;
        run.iteration_finished = false;
        run.phase = Phase::Curriculum;
        run.versions.clear();
        run.versions.push(policy);
        run.draws = 0;
        run.open.clear();
        run.batch.clear();
        run.updates = 0;
    });
}

fn candidate_generated(world: &mut World, event: CandidateGeneratedV1) {
    let CandidateGeneratedV1 { candidate, iteration, draw, attempt: _, refined, content } = event;
    funnel(world, iteration, |counts| {
        count(&mut counts.candidates);
        if let Some(refinement) = &refined {
            count(counts.refined.entry(refinement.direction).or_default());
        }
    });
    if let Some(refinement) = &refined {
        world.edit(refinement.parent, |parent: &mut Candidate| parent.succeeded_by = Some(candidate));
    }
    world.put(
        candidate,
        Candidate {
            iteration,
            draw,
            refined,
            status: Status::Generated,
            looks: Vec::new(),
            succeeded_by: None,
        },
    );
    let content = Arc::new(content);
    world.put(candidate, Content { content, fail_to_pass: Vec::new(), pass_to_pass: Vec::new() });
    progress(world, |run| {
        seen(run, candidate);
        run.draws = run.draws.max(draw.saturating_add(1));
        if let Err(place) = run.open.binary_search(&candidate) {
            run.open.insert(place, candidate);
        }
    });
}

fn candidate_validated(world: &mut World, event: CandidateValidatedV1) {
    let CandidateValidatedV1 { candidate, fail_to_pass, pass_to_pass } = event;
    world.edit(candidate, |it: &mut Candidate| it.status = Status::Validated);
    world.edit(candidate, |content: &mut Content| {
        content.fail_to_pass = fail_to_pass;
        content.pass_to_pass = pass_to_pass;
    });
}

fn candidate_rejected(world: &mut World, event: &CandidateRejectedV1) {
    let &CandidateRejectedV1 { candidate, reason } = event;
    let iteration = iteration_of(world, candidate);
    world.edit(candidate, |it: &mut Candidate| it.status = Status::Rejected(reason));
    funnel(world, iteration, |counts| count(counts.rejected.entry(reason).or_default()));
    close(world, candidate);
}

/// The iteration a candidate was made for; the one under way for an unknown candidate.
fn iteration_of(world: &World, candidate: StableId) -> Iteration {
    let known = world.get::<Candidate>(candidate);
    known.map_or_else(|| world.view().progress().iteration, |known| known.iteration)
}

fn close(world: &mut World, candidate: StableId) {
    progress(world, |run| {
        if let Ok(place) = run.open.binary_search(&candidate) {
            run.open.remove(place);
        }
    });
}

fn candidate_calibrated(world: &mut World, event: &CandidateCalibratedV1) {
    let &CandidateCalibratedV1 { candidate, look: _, passed, sampled } = event;
    let iteration = iteration_of(world, candidate);
    world.edit(candidate, |it: &mut Candidate| it.looks.push((passed, sampled)));
    funnel(world, iteration, |counts| count(&mut counts.looks));
}

fn task_admitted(world: &mut World, event: &TaskAdmittedV1) {
    let &TaskAdmittedV1 { task, candidate, passed, sampled, in_band } = event;
    let iteration = iteration_of(world, candidate);
    world.edit(candidate, |it: &mut Candidate| it.status = Status::Admitted(task));
    let content = world.get::<Content>(candidate).cloned();
    let digest = content.as_ref().map_or(Digest::default(), |content| content.content.digest);
    let source = TaskSource::Admitted { iteration, candidate, passed, sampled, in_band };
    world.put(task, Task { digest, source });
    if let Some(content) = content {
        world.put(task, content);
    }
    funnel(world, iteration, |counts| {
        count(if in_band { &mut counts.admitted } else { &mut counts.filled });
    });
    close(world, candidate);
    progress(world, |run| {
        seen(run, task);
        run.batch.push(task);
    });
}

fn batch_closed(world: &mut World, event: BatchClosedV1) {
    let BatchClosedV1 { iteration: _, tasks, budget_spent: _ } = event;
    progress(world, |run| {
        run.batch = tasks;
        run.phase = Phase::Training;
    });
}

fn trajectory_finished(world: &mut World, event: TrajectoryFinishedV1) {
    let TrajectoryFinishedV1 {
        trajectory,
        subject,
        purpose,
        iteration,
        version,
        visit,
        member,
        segments,
        exit,
        facts,
        raw_reward,
        reward,
        entropy,
        tool_calls,
        patch: _,
    } = event;
    let sampled = segments.iter().map(|segment| segment.log_probs.len() as u64).sum::<u64>();
    let known = world.get::<Trajectory>(trajectory).map(|known| known.subject);
    let history = History::new(segments);
    let record = Trajectory {
        subject,
        purpose,
        iteration,
        version,
        visit,
        member,
        exit,
        facts,
        raw_reward,
        reward,
        entropy,
        sampled: u32::try_from(sampled).unwrap_or(u32::MAX),
        tool_calls,
        history: history.digest(),
    };
    world.put(trajectory, record);
    let mut index = world.ecs.resource_mut::<Index>();
    if let Some(known) = known {
        index.forget_played(known, trajectory);
    }
    index.note_played(subject, trajectory);
    if purpose == Purpose::Evaluation {
        world.remove::<History>(trajectory);
    } else {
        world.put(trajectory, history);
    }
    progress(world, |run| seen(run, trajectory));
}

fn update_applied(world: &mut World, event: UpdateAppliedV1) {
    let (policy, iteration) = (event.policy, event.iteration);
    let version = Version(event.update.saturating_add(1));
    let state = Some(event.state);
    world.put(policy, Policy { iteration, version, weights: event.weights, state, published: false });
    world.put(policy, Update { result: event });
    progress(world, |run| {
        seen(run, policy);
        run.versions.push(policy);
        count(&mut run.updates);
    });
}

fn evaluation_finished(world: &mut World, event: EvaluationFinishedV1) {
    let measured = (event.set.clone(), event.temperature.to_bits());
    let policy = world.view().progress().policy.unwrap_or(RUN);
    if world.get::<Evaluation>(policy).is_none() {
        world.put(policy, Evaluation::default());
    }
    world.edit(policy, |evaluation: &mut Evaluation| evaluation.results.push(event));
    progress(world, |run| run.evaluated.push(measured));
}

/// Bulk of the iteration's candidates, tasks and trajectories leaves the world; what was learnt of them stays.
fn iteration_finished(world: &mut World, event: &IterationFinishedV1) {
    let &IterationFinishedV1 { iteration: _ } = event;
    let view = world.view();
    let held_out = |id| matches!(view.task(id), Some(Task { source: TaskSource::HeldOut { .. }, .. }));
    let contents: Vec<_> = view.all::<Content>().map(|(id, _)| id).filter(|&id| !held_out(id)).collect();
    let histories: Vec<_> = view.all::<History>().map(|(id, _)| id).collect();
    for id in contents {
        world.remove::<Content>(id);
    }
    for id in histories {
        world.remove::<History>(id);
    }
    progress(world, |run| run.iteration_finished = true);
}
