//! Folds the log.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use tadpole_kernel::id::Step;
use tadpole_kernel::keyframe::{self, Spacing};
use tadpole_kernel::replay::Replay;
use tadpole_kernel::run::RunReader;

use super::failures;
use crate::engine::ReplayReport;
use crate::failure::Failure;
use crate::progress::{Notice, Observer};

/// Folds the log up to step `to`, or to its end.
pub(super) fn replay(
    directory: &Path,
    to: Option<u64>,
    observer: &dyn Observer,
) -> Result<ReplayReport, Failure> {
    let reader = RunReader::open(directory).map_err(|error| failures::run(directory, &error))?;
    let totals = reader.totals().map_err(|error| failures::run(directory, &error))?;
    let last_step = totals.last.step;
    let refused = |error| failures::replay(directory, &error);
    let mut replay = Replay::open(directory).map_err(refused)?;
    let target = to.map_or(last_step, Step);
    if target > last_step {
        // Says how many steps there are.
        replay.to(target).map_err(refused)?;
    }
    while replay.last().is_none_or(|last| last.step < target) {
        let Some(commit) = replay.step().map_err(refused)? else { break };
        let (done, total) = (commit.step.0 + 1, target.0 + 1);
        observer.notice(&Notice::Advanced { work: "replayed", done, total, detail: String::new() });
    }
    let Some(commit) = replay.last().copied() else {
        return Err(Failure::failed("the log holds no step").at(directory.display()));
    };
    Ok(ReplayReport {
        run_id: reader.run().to_hex(),
        step: commit.step.0,
        last_step: last_step.0,
        events: commit.next().0,
        chain: commit.chain.to_hex(),
        world: commit.world.to_hex(),
        entities: entities(&replay.world().to_json()),
    })
}

/// Makes the keyframes that a run lacks; says how many it has then.
pub(super) fn keyframes(directory: &Path, observer: &dyn Observer) -> Result<u64, Failure> {
    let reader = RunReader::open(directory).map_err(|error| failures::run(directory, &error))?;
    let totals = reader.totals().map_err(|error| failures::run(directory, &error))?;
    let made = keyframe::build(directory, Spacing::default(), |commit| {
        let (done, total) = (commit.step.0 + 1, totals.steps);
        observer.notice(&Notice::Advanced { work: "replayed", done, total, detail: String::new() });
    });
    made.map_err(|error| failures::replay(directory, &error))
}

/// How many there are of each component.
fn entities(world: &Value) -> BTreeMap<String, u64> {
    let components = world.as_object().into_iter().flatten();
    components.map(|(name, all)| (name.clone(), all.as_object().map_or(0, |all| all.len() as u64))).collect()
}
