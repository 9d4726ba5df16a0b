//! Fork: a new run that goes on from any step of another, under a scenario of its own.
//!
//! What lies before the step is the parent's and is shared: sealed segments, blobs and answers from outside are hard links
//! (copies across devices), the segment that the step lies in is copied up to it. The child's first own segment names the
//! parent in its header and begins with `RunForked`. Nothing of the parent is ever written: blobs are never
//! changed in place by anyone, and of a log only the last write is written again, which in a child lies in its own segment.

mod prefix;
mod share;

use std::path::Path;
use std::sync::Arc;

pub use prefix::Prefix;
use share::Share;

use crate::blob;
use crate::draws::DrawCount;
use crate::effect;
use crate::id::{Digest, Sequence, Step};
use crate::keyframe;
use crate::log::{LogError, Position, Sealed, Writer, segment_name};
use crate::replay::ReplayError;
use crate::run::{self, ForkPoint, RunError, RunHeader, SCENARIO, scenario_of};
use crate::storage::{Disk, Storage};
use crate::world::{Phase, Token};

/// What becomes of what.
#[derive(Clone, Copy, Debug)]
pub struct Fork<'a> {
    /// The child's directory, which does not exist.
    pub dir: &'a Path,
    /// The child's resolved scenario, as TOML.
    pub scenario: &'a str,
    /// What identifies that scenario.
    pub header: RunHeader,
}

/// A fork that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Forked {
    /// The child's id.
    pub run: Digest,
    /// The parent's id.
    pub parent: Digest,
    /// The last step that they share.
    pub step: Step,
    /// The chain hash of that step.
    pub chain: Digest,
    /// Files shared with the parent.
    pub linked: u64,
    /// Files copied from it.
    pub copied: u64,
}

/// Why a fork was not made. Nothing is left of it.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// A run cannot be read or made.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The parent's log cannot be folded up to the step.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The scenario contradicts what happened.
    #[error("{key} = {given} contradicts the past: {reason}")]
    Contradiction {
        /// The key.
        key: &'static str,
        /// What the child's scenario says.
        given: String,
        /// What happened.
        reason: String,
    },
    /// Nothing comes after the step.
    #[error("the run is over at step {step}; fork at an earlier step")]
    Over {
        /// The step.
        step: Step,
    },
    /// The next decision would need a blob that the parent has dropped, or lost.
    #[error(
        "step {step} needs blob {digest}, which is not there (dropped when its iteration ended, or lost: `tadpole check` tells); {}",
        boundary.map_or_else(|| "no earlier step ends an iteration".to_owned(), |at| format!("step {at} ends the iteration before"))
    )]
    Dropped {
        /// The step.
        step: Step,
        /// The blob.
        digest: Digest,
        /// The last step before it that ends an iteration.
        boundary: Option<Step>,
    },
    /// The event with which the child begins cannot be stored.
    #[error("the fork cannot be recorded: {0}")]
    Encode(#[from] crate::event::EncodeError),
}

impl From<LogError> for ForkError {
    fn from(error: LogError) -> Self {
        RunError::from(error).into()
    }
}

/// Makes a run that goes on behind `prefix`. The directory is there whole, and durable, or not at all.
///
/// Which keys of a scenario may change is for whoever knows their meaning; here only what the log itself would contradict is
/// refused: seed, arithmetic, iterations that are over.
pub fn fork(prefix: Prefix, fork: &Fork<'_>) -> Result<Forked, ForkError> {
    check(&prefix, &fork.header)?;
    run::make_whole(fork.dir, |storage, path| fill(storage, path, prefix, fork))
}

fn check(prefix: &Prefix, header: &RunHeader) -> Result<(), ForkError> {
    let was = prefix.reader.header();
    let view = prefix.world.view();
    let progress = view.progress();
    let contradiction =
        |key, given: String, reason: String| Err(ForkError::Contradiction { key, given, reason });
    if header.seed != was.seed {
        let reason = format!("every number drawn so far follows from seed {}", was.seed);
        return contradiction("seed", header.seed.to_string(), reason);
    }
    if header.arithmetic != was.arithmetic {
        let reason = format!("everything so far was computed by version {}", was.arithmetic);
        return contradiction("arithmetic version", header.arithmetic.to_string(), reason);
    }
    if header.iterations < progress.iteration.0 {
        let reason = format!("iteration {} has begun", progress.iteration);
        return contradiction("iterations", header.iterations.to_string(), reason);
    }
    match progress.phase {
        Phase::Finished | Phase::Refused => Err(ForkError::Over { step: prefix.commit.step }),
        _ => prefix.check_blobs(),
    }
}

fn fill(
    storage: &Arc<dyn Storage>,
    path: &Path,
    mut prefix: Prefix,
    fork: &Fork<'_>,
) -> Result<Forked, ForkError> {
    let mut share = Share::new(prefix.reader.dir(), path);
    share_past(&prefix, &mut share)?;
    share.write(SCENARIO, fork.scenario.as_bytes())?;
    let commit = prefix.commit;
    let point = ForkPoint { parent: prefix.reader.run(), step: commit.step, chain: commit.chain };
    begin(storage, &mut prefix, &fork.header, &point)?;
    share.sync_directories()?;
    let Share { linked, copied, .. } = share;
    let run = fork.header.forked(&point);
    Ok(Forked { run, parent: point.parent, step: point.step, chain: point.chain, linked, copied })
}

/// Shares what was committed up to the step, and the scenarios under which it was.
fn share_past(prefix: &Prefix, share: &mut Share) -> Result<(), ForkError> {
    for index in 0..prefix.segment {
        share.file(&segment_name(index))?;
    }
    let partial = segment_name(prefix.segment);
    if prefix.commit.seals {
        share.file(&partial)?;
    } else {
        share.start_of(&partial, prefix.end)?;
    }
    // A parent that runs on may drop what the child needs at this very moment: then there is no child.
    let dispensable = prefix.dispensable();
    for &digest in &prefix.blobs {
        let name = blob::name(digest);
        if dispensable.contains(&digest) { share.file_if_there(&name)? } else { share.file(&name)? }
    }
    for &request in &prefix.answers {
        share.file(&effect::name(request))?;
    }
    let keyframes = keyframe::list(&Disk::new(prefix.reader.dir())).map_err(RunError::io(keyframe::DIR))?;
    for step in keyframes.into_iter().filter(|&step| step <= prefix.commit.step) {
        share.file_if_there(&keyframe::name(step))?;
    }
    for ancestor in prefix.reader.lineage().ancestors() {
        share.file(&scenario_of(ancestor))?;
    }
    share.file_as(SCENARIO, &scenario_of(prefix.reader.run()))
}

/// Writes the child's first own segment.
fn begin(
    storage: &Arc<dyn Storage>,
    prefix: &mut Prefix,
    header: &RunHeader,
    point: &ForkPoint,
) -> Result<(), ForkError> {
    let event = header.fork_event(point);
    let body = event.encode()?;
    let schema = event.schema();
    prefix.world.apply(event, &Token::new());
    let world = prefix.world.digest();
    let sequence: Sequence = prefix.commit.next();
    let position = Position { step: point.step.next(), sequence, chain: point.chain };
    let next = prefix.segment.checked_add(1).ok_or(LogError::Full)?;
    let mut writer = Writer::fork(Arc::clone(storage), header.forked(point), point.parent, position, next);
    let events = std::iter::once((schema, body.as_slice()));
    writer.commit(events, world, DrawCount::default(), Sealed::No)?;
    Ok(())
}
