//! Verify: every decision is made again and compared with what the log says.
//!
//! What is recorded is a [`Proposal`] to the system that decides again: it may be checked faster than it was made.
//!
//! Whatever is found, verification goes on from the *log's* events, so that one forged fact is reported as itself and not
//! as everything that would have followed.

mod difference;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use crate::blob::retention::{superseded, unneeded};
use crate::blob::{BlobError, BlobReader, BlobStore, Moments};
use crate::decide::{self, Decision, Proposal, Systems, Undecided};
use crate::draws::{Stream, StreamKey};
use crate::effect::{Asking, EffectStore};
use crate::event::{DecodeError, Event};
use crate::id::{Digest, Sequence, Step};
use crate::log::{Commit, Group, Tail};
use crate::run::{ForkPoint, RunError, RunHeader, RunReader};
use crate::world::{Token, World};

use difference::Place;
pub use difference::{Difference, FieldDifference, field_differences};

/// The system that step 0 is ascribed to.
const CREATE: &str = "create";
/// The one that the step is ascribed to with which a fork begins.
const FORK: &str = "fork";

/// What is verified, and how much of it.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// Re-execute a share of the steps only, chosen by seed; all of them when `None`.
    pub sample: Option<Sample>,
    /// Systems whose recorded decisions are trusted.
    pub trusted: Vec<&'static str>,
}

/// A share of steps, chosen by seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Between 0 and 1.
    pub share: f64,
    /// Which steps: equal seeds choose equal steps.
    pub seed: u64,
}

impl Sample {
    fn takes(&self, step: Step) -> bool {
        let key = StreamKey { turn: step.0 as u32, ..StreamKey::new("verify sample") };
        Stream::new(self.seed, &key).uniform() < self.share
    }
}

/// What verification found.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Steps in the log.
    pub steps: u64,
    /// Events in them.
    pub events: u64,
    /// Steps whose decision was made again.
    pub executed: u64,
    /// Steps that could not be made again because a step that was not re-executed made a blob that was dropped since.
    pub out_of_reach: Vec<Step>,
    /// Everything that differs, in order of steps; missing and damaged blobs at the end.
    pub differences: Vec<Difference>,
    /// Whether the run is over, rather than interrupted.
    pub complete: bool,
    /// The last commit.
    pub last: Commit,
    /// How the log ends.
    pub tail: Tail,
}

impl Report {
    /// Whether nothing differs.
    pub fn holds(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Why a run could not be verified at all.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The medium under the blobs failed.
    #[error(transparent)]
    Blob(#[from] BlobError),
}

/// A scenario, as data and as what decides: in force from the start of a run or from a fork on.
#[derive(Clone, Copy, Debug)]
pub struct Era<'a> {
    /// What identifies the scenario.
    pub header: &'a RunHeader,
    /// Its systems.
    pub systems: &'a Systems,
}

/// Verifies a run that is no fork. `header` and `systems` are made from its scenario; `observe` sees each step when it is
/// done.
pub fn verify(
    dir: impl AsRef<Path>,
    header: &RunHeader,
    systems: &Systems,
    options: &VerifyOptions,
    observe: impl FnMut(&Commit),
) -> Result<Report, VerifyError> {
    verify_lineage(dir, Era { header, systems }, &[], options, observe)
}

/// Verifies a run with everything it descends from: each stretch of its log is decided again under the scenario that was in
/// force there. `first` is that of the first ancestor, `forks` those of the forks on the way, the run's own last.
pub fn verify_lineage(
    dir: impl AsRef<Path>,
    first: Era<'_>,
    forks: &[Era<'_>],
    options: &VerifyOptions,
    mut observe: impl FnMut(&Commit),
) -> Result<Report, VerifyError> {
    let reader = RunReader::open(dir)?;
    let mut verifier = Verifier::new(&reader, first, forks, options);
    let mut cursor = reader.groups()?;
    let (mut last, mut events) = (None, 0);
    while let Some(group) = cursor.next_group().map_err(RunError::from)? {
        verifier.group(&group)?;
        events += u64::from(group.commit().count);
        last = Some(*group.commit());
        observe(group.commit());
    }
    let last = last.ok_or(RunError::NotStarted)?;
    verifier.blobs()?;
    Ok(Report {
        steps: last.step.next().0,
        events,
        executed: verifier.executed,
        out_of_reach: verifier.out_of_reach,
        differences: verifier.differences,
        complete: verifier.era.systems.next(&verifier.world.view()).is_none(),
        last,
        tail: cursor.tail().clone(),
    })
}

struct Verifier<'a> {
    era: Era<'a>,
    forks: std::slice::Iter<'a, Era<'a>>,
    /// Where a fork would go on.
    point: ForkPoint,
    options: &'a VerifyOptions,
    store: BlobStore,
    reader: BlobReader,
    effects: EffectStore,
    world: World,
    /// Blobs that events name, with the step that named them first.
    named: BTreeMap<Digest, Step>,
    executed: u64,
    out_of_reach: Vec<Step>,
    differences: Vec<Difference>,
}

impl<'a> Verifier<'a> {
    fn new(run: &RunReader, era: Era<'a>, forks: &'a [Era<'a>], options: &'a VerifyOptions) -> Self {
        let store = run.blob_store();
        let reader = BlobReader::new(store.clone());
        let effects = EffectStore::new(run.storage().clone(), Asking::Forbidden);
        let mut world = World::new();
        decide::install(&mut world, era.systems, reader.clone(), effects.clone());
        Self {
            era,
            forks: forks.iter(),
            point: ForkPoint { parent: era.header.run(), step: Step(0), chain: Digest::default() },
            options,
            store,
            reader,
            effects,
            world,
            named: BTreeMap::new(),
            executed: 0,
            out_of_reach: Vec::new(),
            differences: Vec::new(),
        }
    }

    fn group(&mut self, group: &Group) -> Result<(), VerifyError> {
        let commit = *group.commit();
        let recorded: Vec<_> = group.events().collect();
        for digest in recorded.iter().flatten().flat_map(Event::blobs) {
            self.named.entry(digest).or_insert(commit.step);
        }
        let decided = match recorded.first() {
            Some(Ok(Event::RunForked(_))) => self.fork_again(commit.step),
            _ => self.decide_again(commit.step, &recorded),
        };
        if let Some((system, decision)) = &decided {
            self.executed += 1;
            self.compare(system, group, &recorded, decision);
        }
        let ends = self.apply(&commit, recorded, decided)?;
        let recomputed = self.world.digest();
        if recomputed != commit.world {
            self.differences.push(Difference::World {
                step: commit.step,
                recorded: commit.world,
                recomputed,
            });
        }
        if ends != commit.seals {
            self.differences.push(Difference::Seal {
                step: commit.step,
                recorded: commit.seals,
                recomputed: ends,
            });
        }
        if ends {
            self.reader.lift(superseded(&self.world.view()).into_iter());
        }
        (self.point.step, self.point.chain) = (commit.step, commit.chain);
        Ok(())
    }

    /// From here on the scenario of the next fork is in force.
    fn fork_again(&mut self, step: Step) -> Option<(&'static str, Decision)> {
        let Some(&era) = self.forks.next() else {
            let reason = "the log goes on as a fork, whose scenario was not given".to_owned();
            self.differences.push(Difference::Undecided { step, reason });
            return None;
        };
        self.era = era;
        decide::install(&mut self.world, era.systems, self.reader.clone(), self.effects.clone());
        let events = vec![era.header.fork_event(&self.point)];
        self.point.parent = era.header.forked(&self.point);
        Some((FORK, Decision { events, ..Decision::default() }))
    }

    /// Makes the decision of a step again, unless it is trusted and every event of it can be read.
    fn decide_again(
        &mut self,
        step: Step,
        recorded: &[Result<Event, DecodeError>],
    ) -> Option<(&'static str, Decision)> {
        if step == Step(0) {
            let events = vec![self.era.header.event()];
            return Some((CREATE, Decision { events, ..Decision::default() }));
        }
        let next = self.era.systems.next(&self.world.view());
        let trusted = next.is_some_and(|name| self.options.trusted.contains(&name))
            || self.options.sample.is_some_and(|sample| !sample.takes(step));
        if trusted && recorded.iter().all(Result::is_ok) {
            return None;
        }
        decide::propose(&mut self.world, Proposal::new(recorded.iter().flatten().cloned().collect()));
        match decide::decide(&mut self.world, self.era.systems) {
            Ok(Some(decided)) => return Some(decided),
            Ok(None) => self.differences.push(Difference::Over { step }),
            Err(error) if self.lacks_dropped_blob(&error) => self.out_of_reach.push(step),
            Err(error) => self.differences.push(Difference::Undecided { step, reason: reasons(&error) }),
        }
        None
    }

    /// Applies what is recorded; in place of what cannot be read, what was decided again. Whether an iteration ended.
    fn apply(
        &mut self,
        commit: &Commit,
        recorded: Vec<Result<Event, DecodeError>>,
        decided: Option<(&'static str, Decision)>,
    ) -> Result<bool, VerifyError> {
        let token = Token::new();
        let Decision { events, blobs, draws: _ } = decided.map(|(_, decision)| decision).unwrap_or_default();
        let mut again = events.into_iter();
        let mut ends = false;
        for (sequence, event) in (commit.first.0..).zip(recorded) {
            let again = again.next();
            let event = event.or_else(|error| again.ok_or(error)).map_err(|error| RunError::Event {
                step: commit.step,
                sequence: Sequence(sequence),
                error,
            })?;
            ends |= matches!(event, Event::IterationFinished(_));
            self.world.apply(event, &token);
        }
        self.lay(blobs)?;
        Ok(ends)
    }

    fn compare(
        &mut self,
        system: &'static str,
        group: &Group,
        recorded: &[Result<Event, DecodeError>],
        decision: &Decision,
    ) {
        let commit = *group.commit();
        let pairs = group.bodies().zip(recorded.iter().zip(&decision.events));
        for (index, ((schema, body), (was, again))) in pairs.enumerate() {
            // What cannot be stored equals nothing that is.
            let bytes = again.encode().unwrap_or_default();
            if again.schema() != schema || bytes.as_slice() != body {
                let place = Place { step: commit.step, system, index, first: commit.first };
                self.differences.push(Difference::event(place, was, again, body, &bytes));
            }
        }
        if decision.events.len() != recorded.len() {
            self.differences.push(Difference::count(commit.step, system, recorded, &decision.events));
        }
        if decision.draws != commit.draws {
            let (recorded, recomputed) = (commit.draws, decision.draws);
            self.differences.push(Difference::Draws { step: commit.step, system, recorded, recomputed });
        }
    }

    /// Keeps what the store no longer has for the decisions that follow.
    fn lay(&mut self, blobs: BTreeMap<Digest, Vec<u8>>) -> Result<(), VerifyError> {
        let mut missing = Vec::new();
        for (digest, bytes) in blobs {
            if self.named.contains_key(&digest) && !self.store.contains(digest)? {
                missing.push((digest, bytes));
            }
        }
        self.reader.lay(missing.into_iter());
        Ok(())
    }

    /// Whether a decision failed for a blob that an earlier step, not re-executed, would have made again.
    fn lacks_dropped_blob(&self, error: &Undecided) -> bool {
        let partial = self.options.sample.is_some() || !self.options.trusted.is_empty();
        let mut cause: Option<&dyn Error> = Some(error);
        while let Some(error) = cause {
            if let Some(BlobError::Missing(digest)) = error.downcast_ref() {
                return partial && self.named.contains_key(digest);
            }
            cause = error.source();
        }
        false
    }

    /// Every blob that is named, and is still needed, is there and is what its name says.
    fn blobs(&mut self) -> Result<(), VerifyError> {
        let dropped = unneeded(&self.world.view(), Moments::Carried);
        for (&digest, &step) in &self.named {
            match self.store.read(digest) {
                Ok(_) => {}
                Err(BlobError::Missing(_)) if dropped.contains(&digest) => {}
                Err(error @ (BlobError::Missing(_) | BlobError::Corrupt { .. })) => {
                    self.differences.push(Difference::Blob { step, digest, reason: error.to_string() });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// An error with everything behind it, on one line.
fn reasons(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}
