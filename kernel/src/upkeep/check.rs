//! Is a run directory whole?

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::claims::Claimed;
use super::problem::Problem;
use super::walk::Walk;
use crate::blob::{BlobError, BlobStore, Moments};
use crate::effect::{Asking, EffectError, EffectStore};
use crate::id::Digest;
use crate::log::Commit;
use crate::replay::ReplayError;
use crate::run::{Lineage, RunError, SCENARIO, is_held, scenario_of};
use crate::storage::{Disk, Storage};

/// What a check found.
#[derive(Debug)]
pub struct CheckReport {
    /// Committed steps that are sound.
    pub steps: u64,
    /// Events in them.
    pub events: u64,
    /// The last of them.
    pub last: Option<Commit>,
    /// Whether the run is over.
    pub over: bool,
    /// Whether a process writes to the run, so that it may end within a step that is being written.
    pub live: bool,
    /// The blobs.
    pub blobs: Stored,
    /// The answers from outside.
    pub answers: Stored,
    /// What is wrong, in the order of the log, then of names. Empty where the run is whole.
    pub problems: Vec<Problem>,
}

/// Files named by digest, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Stored {
    /// There, and whole.
    pub whole: u64,
    /// Named by an event, not there, and not needed any more.
    pub dropped: u64,
    /// There, and named by no event: of a step that was interrupted before it was committed.
    pub unnamed: u64,
}

/// Checks a run directory: every byte of the log, every event, the world after every step, every blob and answer. Takes no
/// lock and changes nothing.
#[must_use]
pub fn check(dir: impl AsRef<Path>, moments: Moments) -> CheckReport {
    let dir = dir.as_ref();
    let report = check_on(&(Arc::new(Disk::new(dir)) as Arc<dyn Storage>), moments);
    if report.problems.iter().any(|problem| matches!(problem, Problem::Torn(_))) && is_held(dir) {
        let problems = report.problems.into_iter().filter(|problem| !matches!(problem, Problem::Torn(_)));
        return CheckReport { problems: problems.collect(), live: true, ..report };
    }
    report
}

/// `check` of another medium than the disk.
#[must_use]
pub fn check_on(storage: &Arc<dyn Storage>, moments: Moments) -> CheckReport {
    let mut report = CheckReport {
        steps: 0,
        events: 0,
        last: None,
        over: false,
        live: false,
        blobs: Stored::default(),
        answers: Stored::default(),
        problems: Vec::new(),
    };
    let whole_log = log(storage, &mut report);
    scenarios(storage, whole_log.as_ref(), &mut report);
    let store = BlobStore::new(Arc::clone(storage));
    let effects = EffectStore::new(Arc::clone(storage), Asking::Forbidden);
    blobs(&store, whole_log.as_ref(), moments, &mut report);
    answers(&effects, whole_log.as_ref(), &mut report);
    report
}

/// The fold of the log, where it is whole: only then is it known what must be there.
fn log(storage: &Arc<dyn Storage>, report: &mut CheckReport) -> Option<Walk> {
    let mut walk = match Walk::open(storage) {
        Ok(walk) => walk,
        Err(error) => {
            report.problems.push(ReplayError::from(RunError::from(error)).into());
            return None;
        }
    };
    let fault = loop {
        match walk.step() {
            Ok(Some(_)) => {}
            Ok(None) => break None,
            Err(error) => break Some(Problem::from(error)),
        }
    };
    let torn = walk.cursor.tail().torn.clone().map(Problem::Torn);
    let whole = fault.is_none();
    report.problems.extend(fault.into_iter().chain(torn));
    report.steps = walk.last.map_or(0, |last| last.step.0 + 1);
    (report.events, report.last, report.over) = (walk.events, walk.last, whole && walk.is_over());
    whole.then_some(walk)
}

/// The scenarios of the run and of those that it descends from.
fn scenarios(storage: &Arc<dyn Storage>, walk: Option<&Walk>, report: &mut CheckReport) {
    let ancestors = walk.and_then(|walk| walk.lineage.as_ref()).into_iter().flat_map(Lineage::ancestors);
    for file in ancestors.map(scenario_of).chain([SCENARIO.to_owned()]) {
        if let Err(error) = storage.read(&file) {
            report.problems.push(Problem::Unreadable { file, error });
        }
    }
}

fn blobs(store: &BlobStore, walk: Option<&Walk>, moments: Moments, report: &mut CheckReport) {
    let present = match store.list() {
        Ok(present) => present,
        Err(error) => return report.problems.push(unreadable("blobs", error)),
    };
    for &digest in &present {
        match whole_blob(store, digest) {
            Ok(()) => report.blobs.whole += 1,
            Err(problem) => report.problems.push(problem),
        }
    }
    let Some(walk) = walk else { return };
    let unneeded = walk.unneeded(moments);
    for (&digest, &step) in walk.claims.blobs.iter().filter(|(digest, _)| !present.contains(digest)) {
        if unneeded.contains(&digest) {
            report.blobs.dropped += 1;
        } else {
            report.problems.push(Problem::MissingBlob { digest, step });
        }
    }
    report.blobs.unnamed = count(present.iter().filter(|digest| !walk.claims.blobs.contains_key(digest)));
}

/// Whether a blob's content is what its name says.
pub(super) fn whole_blob(store: &BlobStore, digest: Digest) -> Result<(), Problem> {
    match store.read(digest) {
        Ok(_) => Ok(()),
        Err(BlobError::Corrupt { name, content }) => Err(Problem::CorruptBlob { digest: name, content }),
        Err(error) => Err(unreadable("blobs", error)),
    }
}

fn unreadable(file: &str, error: BlobError) -> Problem {
    Problem::Unreadable { file: file.to_owned(), error: std::io::Error::other(error) }
}

fn answers(effects: &EffectStore, walk: Option<&Walk>, report: &mut CheckReport) {
    let present = match effects.list() {
        Ok(present) => present,
        Err(error) => {
            let error = std::io::Error::other(error);
            return report.problems.push(Problem::Unreadable { file: "effects".to_owned(), error });
        }
    };
    let claimed = walk.map(|walk| &walk.claims.answers);
    let used: BTreeSet<Digest> = claimed.iter().flat_map(|claimed| claimed.keys().copied()).collect();
    for &request in present.difference(&used) {
        match effects.recorded(request) {
            Ok(_) => report.answers.whole += 1,
            Err(error) => report.problems.push(Problem::CorruptAnswer { request, error }),
        }
    }
    for (&request, claimed) in claimed.into_iter().flatten() {
        match whole_answer(effects, request, claimed) {
            Ok(()) => report.answers.whole += 1,
            Err(problem) => report.problems.push(problem),
        }
    }
    report.answers.unnamed = if walk.is_some() { count(present.difference(&used)) } else { 0 };
}

/// Whether the answer is there that a step used.
pub(super) fn whole_answer(effects: &EffectStore, request: Digest, claimed: &Claimed) -> Result<(), Problem> {
    let &Claimed { answer, step } = claimed;
    match effects.recorded(request) {
        Ok(Some(bytes)) if Digest::of(&bytes) == answer => Ok(()),
        Ok(Some(_)) => Err(Problem::OtherAnswer { request, step }),
        Ok(None) => Err(Problem::MissingAnswer { request, step }),
        Err(error @ EffectError::Corrupt { .. }) => Err(Problem::CorruptAnswer { request, error }),
        Err(error) => {
            Err(Problem::Unreadable { file: "effects".to_owned(), error: std::io::Error::other(error) })
        }
    }
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    items.count() as u64
}
