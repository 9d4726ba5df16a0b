//! Fresh measurements of a run's policies: played anew, from streams that the run never drew from, and recorded nowhere.
//!
//! What a run records about its tasks is biased by how it chose them: a candidate is admitted because its estimate fell into
//! the band, and refined because it fell out of it. Playing the same tasks again, by the same policy, tells what they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::DecideError;
use tadpole_kernel::event::{Direction, Grade, Purpose};
use tadpole_kernel::id::{Digest, Iteration, Member, StableId, Version, Visit};
use tadpole_kernel::replay::Replay;
use tadpole_kernel::run::RunReader;
use tadpole_kernel::world::{Candidate, Phase, TaskSource, WorldView};
use tadpole_scenarios::schema::HeldOutSet;

use super::{EvaluationSummary, StoryError};
use crate::assembly::Assembly;
use crate::evaluation::plan::Measurement;
use crate::evaluation::statistics::{Mean, mean};
use crate::evaluation::{held_out, tally};
use crate::open;
use crate::rollout::{Assignment, Played};
use crate::subject::{self, Subject};

/// The visit of fresh trajectories: no look, update or planned measurement has it.
const FRESH: Visit = Visit(u32::MAX);

/// The tasks of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub enum Tasks {
    /// Those of a held-out set of the run.
    OfRun,
    /// Drawn as the set says; none of them is a task of the run.
    Drawn,
}

/// Weights of the policy that `iteration` published (0 for the base), or of the one published last.
#[must_use]
pub fn published(world: &WorldView<'_>, iteration: Option<u32>) -> Option<(Iteration, Digest)> {
    let mut policies = world.policies().rev().filter(|(_, policy)| policy.published);
    let found = policies.find(|(_, policy)| iteration.is_none_or(|wanted| policy.iteration.0 == wanted));
    found.map(|(_, policy)| (policy.iteration, policy.weights))
}

/// Measures the policy that `iteration` published on `set`: sampled, and greedily where the set wants it. `None` where there
/// is no such policy.
pub fn evaluate(
    run: &RunReader,
    assembly: &Assembly,
    iteration: Option<u32>,
    (set, tasks): (&HeldOutSet, &Tasks),
) -> Result<Option<Vec<EvaluationSummary>>, StoryError> {
    let mut replay = Replay::open(run.dir())?;
    replay.finish()?;
    let view = replay.world().view();
    let blobs = run.blobs();
    let Some((iteration, weights)) = published(&view, iteration) else { return Ok(None) };
    let subjects = subjects(&view, &blobs, assembly, (set, tasks))?;
    let ways = [Some((set.temperature, set.samples)), set.greedy.then_some((0.0, 1))];
    let mut measured = Vec::new();
    for (temperature, samples) in ways.into_iter().flatten() {
        let measurement = Measurement { index: FRESH.0, set, temperature, samples };
        let played = play(assembly, &blobs, weights, (iteration, temperature, samples), &subjects)?;
        let result = tally(iteration, &measurement, subjects.len() as u32, &played);
        measured.push(EvaluationSummary::from(&result));
    }
    Ok(Some(measured))
}

/// The tasks that a set consists of.
fn subjects(
    view: &WorldView<'_>,
    blobs: &BlobReader,
    assembly: &Assembly,
    (set, tasks): (&HeldOutSet, &Tasks),
) -> Result<Vec<Arc<Subject>>, DecideError> {
    match tasks {
        Tasks::OfRun => {
            held_out(view, &set.name).into_iter().map(|id| subject::load(view, blobs, id)).collect()
        }
        Tasks::Drawn => {
            let mut known = view.tasks().map(|(_, task)| task.digest).collect();
            let drawn = open::draw_set(set, assembly.players.recipe(), &assembly.judge, &mut known)?;
            let subjects = drawn.into_iter().map(|(made, soundness)| {
                let fresh = made.to_subject(StableId(0));
                let (fail_to_pass, pass_to_pass) = (soundness.fail_to_pass, soundness.pass_to_pass);
                Arc::new(Subject { fail_to_pass, pass_to_pass, ..fresh })
            });
            Ok(subjects.collect())
        }
    }
}

fn play(
    assembly: &Assembly,
    blobs: &BlobReader,
    weights: Digest,
    (iteration, temperature, samples): (Iteration, f32, u32),
    subjects: &[Arc<Subject>],
) -> Result<Vec<Played>, DecideError> {
    let assignments: Vec<Assignment> = subjects
        .iter()
        .flat_map(|subject| {
            (0..samples).map(|member| Assignment {
                subject: Arc::clone(subject),
                purpose: Purpose::Evaluation,
                iteration,
                version: Version(0),
                visit: FRESH,
                member: Member(member),
                temperature,
            })
        })
        .collect();
    assembly.players.play_by(weights, blobs, &assignments)
}

/// What calibration said of an iteration's tasks, beside what fresh trajectories of the same policy version say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recalibration {
    /// The iteration.
    pub iteration: Iteration,
    /// Fresh trajectories of each task.
    pub samples: u32,
    /// The tasks that were admitted in band.
    pub tasks: Vec<Recalibrated>,
    /// Mean p-hat of them at admission.
    pub then: Option<Mean>,
    /// Mean p-hat of them over the fresh trajectories.
    pub now: Option<Mean>,
    /// How far refinement moved pass rates.
    pub shifts: Vec<Shift>,
}

/// A task measured again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Recalibrated {
    /// The task.
    pub task: StableId,
    /// The candidate it was.
    pub candidate: StableId,
    /// Calibration trajectories that passed.
    pub passed: u32,
    /// Calibration trajectories.
    pub sampled: u32,
    /// Fresh trajectories that passed.
    pub fresh_passed: u32,
}

/// How far the refinements of one direction moved the pass rate: successor less parent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shift {
    /// Which way it was meant to move.
    pub direction: Direction,
    /// Whether it was measured with fresh trajectories of both. From recorded calibrations alone it is biased outwards, since a
    /// parent was refined for what its own estimate happened to be.
    pub fresh: bool,
    /// Mean over the pairs whose both ends were calibrated.
    pub shift: Mean,
}

/// Measures the tasks that `iteration` admitted in band again, with `samples` fresh trajectories each of the version that
/// calibrated them; where `refined`, both ends of every refinement as well. `None` where that iteration has no batch.
pub fn recalibrate(
    run: &RunReader,
    assembly: &Assembly,
    iteration: u32,
    (samples, refined): (u32, bool),
) -> Result<Option<Recalibration>, StoryError> {
    let mut replay = Replay::open(run.dir())?;
    loop {
        let view = replay.world().view();
        let progress = view.progress();
        if progress.iteration.0 == iteration && progress.phase == Phase::Training {
            break;
        }
        if replay.step()?.is_none() {
            return Ok(None);
        }
    }
    let view = replay.world().view();
    let admitted = admitted(&view, iteration);
    let pairs = pairs(&view, iteration);
    let mut due: Vec<StableId> = admitted.iter().map(|task| task.candidate).collect();
    if refined {
        due.extend(pairs.iter().flat_map(|pair| [pair.parent, pair.successor]));
    }
    due.sort_unstable();
    due.dedup();
    let fresh = passes(&view, &run.blobs(), assembly, &due, samples)?;
    let rate = |candidate: StableId| fresh.get(&candidate).map(|&passed| share((passed, samples)));
    let tasks: Vec<Recalibrated> = admitted
        .into_iter()
        .map(|task| Recalibrated { fresh_passed: fresh.get(&task.candidate).copied().unwrap_or(0), ..task })
        .collect();
    let then: Vec<f64> = tasks.iter().map(|task| share((task.passed, task.sampled))).collect();
    let now: Vec<f64> = tasks.iter().filter_map(|task| rate(task.candidate)).collect();
    let mut shifts = Vec::new();
    for direction in [Direction::Easier, Direction::Harder] {
        let of_direction = || pairs.iter().filter(move |pair| pair.direction == direction);
        let recorded: Vec<f64> = of_direction().map(|pair| pair.recorded).collect();
        let again: Vec<f64> = of_direction()
            .filter(|_| refined)
            .filter_map(|pair| Some(rate(pair.successor)? - rate(pair.parent)?))
            .collect();
        let shift = |fresh, shifts: &[f64]| mean(shifts).map(|shift| Shift { direction, fresh, shift });
        shifts.extend(shift(false, &recorded).into_iter().chain(shift(true, &again)));
    }
    let (then, now) = (mean(&then), mean(&now));
    Ok(Some(Recalibration { iteration: Iteration(iteration), samples, tasks, then, now, shifts }))
}

/// A refinement whose both ends were calibrated.
struct Pair {
    parent: StableId,
    successor: StableId,
    direction: Direction,
    recorded: f64,
}

fn share((passed, sampled): (u32, u32)) -> f64 {
    f64::from(passed) / f64::from(sampled.max(1))
}

/// The calibrated pass rate of a candidate; `None` where nobody looked at it.
fn calibrated(candidate: &Candidate) -> Option<f64> {
    let (passed, sampled) = candidate.looks.iter().fold((0, 0), |(k, n), look| (k + look.0, n + look.1));
    (sampled > 0).then(|| share((passed, sampled)))
}

/// The tasks admitted in band, with nothing fresh yet.
fn admitted(view: &WorldView<'_>, iteration: u32) -> Vec<Recalibrated> {
    view.tasks()
        .filter_map(|(task, known)| match known.source {
            TaskSource::Admitted { iteration: Iteration(of), candidate, passed, sampled, in_band: true }
                if of == iteration =>
            {
                Some(Recalibrated { task, candidate, passed, sampled, fresh_passed: 0 })
            }
            _ => None,
        })
        .collect()
}

fn pairs(view: &WorldView<'_>, iteration: u32) -> Vec<Pair> {
    view.candidates()
        .filter(|(_, candidate)| candidate.iteration.0 == iteration)
        .filter_map(|(successor, candidate)| {
            let refinement = candidate.refined.as_ref()?;
            let parent = view.candidate(refinement.parent)?;
            let recorded = calibrated(candidate)? - calibrated(parent)?;
            Some(Pair { parent: refinement.parent, successor, direction: refinement.direction, recorded })
        })
        .collect()
}

/// Of `samples` fresh trajectories on each candidate, those that pass.
fn passes(
    view: &WorldView<'_>,
    blobs: &BlobReader,
    assembly: &Assembly,
    candidates: &[StableId],
    samples: u32,
) -> Result<BTreeMap<StableId, u32>, StoryError> {
    let progress = view.progress();
    let version = progress.versions.first().and_then(|&id| view.policy(id));
    let version = version.ok_or_else(|| DecideError::new("the iteration has no published policy"))?;
    let subjects: Vec<Arc<Subject>> =
        candidates.iter().map(|&id| subject::load(view, blobs, id)).collect::<Result<_, _>>()?;
    let temperature = assembly.players.recipe().rollout.temperature;
    let way = (progress.iteration, temperature, samples);
    let played = play(assembly, blobs, version.weights, way, &subjects)?;
    let passed = |played: &&Played| played.facts.grade == Grade::Resolved;
    let by_candidate = candidates.iter().zip(played.chunks(samples.max(1) as usize));
    Ok(by_candidate.map(|(&id, played)| (id, played.iter().filter(passed).count() as u32)).collect())
}
