//! Runs the hidden tests of candidates: they must fail on the snapshot, pass with gold, and do so again.

use std::collections::BTreeSet;

use bevy_ecs::prelude::Res;
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::{Context, DecideResult, Decision};
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::event::{CandidateRejectedV1, CandidateValidatedV1, Event, Rejection};
use tadpole_kernel::id::{Digest, StableId};
use tadpole_kernel::world::{Status, WorldView};
use tadpole_scenarios::repository::Tree;

use crate::capability::{Judge, Recipe};
use crate::parallel;
use crate::sandbox::{SandboxError, TestReport, TestStatus, Verdict};
use crate::subject::{self, Subject};

/// The hidden tests of a sound task, by what the gold patch does to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Soundness {
    /// Fail before the gold patch and pass after it; never empty.
    pub fail_to_pass: Vec<String>,
    /// Pass before and after.
    pub pass_to_pass: Vec<String>,
}

/// Validates every generated candidate, in order of id.
pub fn validate(
    world: WorldView,
    recipe: Res<Recipe>,
    judge: Res<Judge>,
    effects: Res<EffectStore>,
    blobs: Res<BlobReader>,
) -> DecideResult {
    let (judge, witness) = judge.witnessed(&effects);
    let progress = world.progress();
    let due: Vec<StableId> = progress
        .open
        .iter()
        .copied()
        .filter(|&id| world.candidate(id).is_some_and(|candidate| candidate.status == Status::Generated))
        .collect();
    let loaded = due.iter().map(|&id| subject::load(&world, &blobs, id)).collect::<Result<Vec<_>, _>>()?;
    let examined = parallel::map(recipe.threads(), &loaded, |_, subject| examine(subject, &judge))
        .context("validating")?;
    let mut decision = Decision::default();
    let mut known = known_tasks(&world, &due);
    for (subject, examined) in loaded.iter().zip(examined) {
        let fresh = known.insert(subject.digest);
        let candidate = subject.id;
        decision.push(match examined {
            _ if !fresh => rejected(candidate, Rejection::Duplicate),
            Err(reason) => rejected(candidate, reason),
            Ok(Soundness { fail_to_pass, pass_to_pass }) => {
                Event::CandidateValidated(CandidateValidatedV1 { candidate, fail_to_pass, pass_to_pass })
            }
        });
    }
    decision.events.extend(witness.events());
    Ok(decision)
}

/// Whether a task is sound; the outer error is the machine's, the inner one the task's.
pub fn examine(subject: &Subject, judge: &Judge) -> Result<Result<Soundness, Rejection>, SandboxError> {
    let before = subject.snapshot.overlaid(&subject.hidden);
    let after = subject.snapshot.overlaid(&subject.gold).overlaid(&subject.hidden);
    let files = subject.test_files();
    let run = |tree: &Tree| judge.sandbox.test(tree, &files, &judge.limits);
    let (failing, passing) = (run(&before)?, run(&after)?);
    if let Err(reason) = ran(&failing).and_then(|()| ran(&passing)) {
        return Ok(Err(reason));
    }
    let soundness = match compare(&failing, &passing) {
        Ok(soundness) => soundness,
        Err(reason) => return Ok(Err(reason)),
    };
    if run(&before)? != failing || run(&after)? != passing {
        return Ok(Err(Rejection::Unstable));
    }
    let visible = judge.sandbox.test(&subject.snapshot, &subject.visible_test_files(), &judge.limits)?;
    if visible.tests.iter().all(|(_, status)| *status == TestStatus::Passed) {
        return Ok(Err(Rejection::NotVisible));
    }
    Ok(Ok(soundness))
}

/// Whether the tests ran to a verdict of their own.
fn ran(report: &TestReport) -> Result<(), Rejection> {
    match report.verdict {
        Verdict::Completed if report.tests.is_empty() => Err(Rejection::DoesNotLoad),
        Verdict::Completed => Ok(()),
        Verdict::OutOfFuel | Verdict::OutOfMemory | Verdict::Watchdog | Verdict::Aborted => {
            Err(Rejection::Exhausted)
        }
    }
}

fn compare(failing: &TestReport, passing: &TestReport) -> Result<Soundness, Rejection> {
    if !passing.tests.iter().all(|(_, status)| *status == TestStatus::Passed) {
        return Err(Rejection::GoldFails);
    }
    let passed_before: BTreeSet<&str> = failing
        .tests
        .iter()
        .filter(|(_, status)| *status == TestStatus::Passed)
        .map(|(id, _)| id.as_str())
        .collect();
    if failing.tests.iter().any(|(_, status)| matches!(status, TestStatus::Error { .. })) {
        return Err(Rejection::DoesNotLoad);
    }
    let (pass_to_pass, fail_to_pass): (Vec<String>, Vec<String>) =
        passing.tests.iter().map(|(id, _)| id.clone()).partition(|id| passed_before.contains(id.as_str()));
    if fail_to_pass.is_empty() {
        return Err(Rejection::NothingFails);
    }
    Ok(Soundness { fail_to_pass, pass_to_pass })
}

/// Content digests of everything that is a task, a held-out task or an older candidate already.
fn known_tasks(world: &WorldView, due: &[StableId]) -> BTreeSet<Digest> {
    let older = world.candidates().map(|(id, _)| id).filter(|id| !due.contains(id));
    let candidates = older.filter_map(|id| world.content(id)).map(|content| content.content.digest);
    world.tasks().map(|(_, task)| task.digest).chain(candidates).collect()
}

fn rejected(candidate: StableId, reason: Rejection) -> Event {
    Event::CandidateRejected(CandidateRejectedV1 { candidate, reason })
}
