//! The loop: a system decides, blobs and events become durable, the world moves on.

mod error;

use std::path::Path;
use std::sync::Arc;

use rkyv::util::AlignedVec;

pub use error::KernelError;

use crate::blob::retention::superseded;
use crate::blob::{BlobReader, BlobStore};
use crate::decide::{self, Decision, Keep, Systems, Undecided};
use crate::draws::{Stream, StreamKey};
use crate::effect::{Asking, EffectStore};
use crate::event::Event;
use crate::id::{Digest, Step};
use crate::keyframe::{self, Spacing};
use crate::log::{self, Commit, Sealed, Writer};
use crate::replay::Replay;
use crate::run::{self, Lineage, Lock, RunError, RunHeader, Timing, TimingLog};
use crate::storage::{Disk, Storage, sync_path};
use crate::world::{Token, World, WorldView};

/// A step that is durable.
#[derive(Clone, Debug, PartialEq)]
pub struct Committed {
    /// The system that decided it.
    pub system: &'static str,
    /// What was decided.
    pub events: Vec<Event>,
    /// Its commit.
    pub commit: Commit,
}

/// A run being driven. There is one a run directory; readers need none.
#[derive(Debug)]
pub struct Kernel {
    storage: Arc<dyn Storage>,
    lineage: Lineage,
    systems: Systems,
    world: World,
    writer: Writer,
    blobs: BlobStore,
    reader: BlobReader,
    effects: EffectStore,
    timing: TimingLog,
    keyframes: Option<Spacing>,
    recovered: Option<String>,
    poisoned: bool,
    _lock: Lock,
}

impl Kernel {
    /// Makes a new run in `dir`, which must not exist, and commits `RunStarted` as step 0.
    pub fn create(
        dir: impl AsRef<Path>,
        scenario_toml: &str,
        header: RunHeader,
        systems: Systems,
    ) -> Result<Self, KernelError> {
        run::create(dir.as_ref(), scenario_toml, &header)?;
        Self::resume(dir, header, systems)
    }

    /// Opens a run where its last commit left it. A torn tail is cut off and noted in `recovery.log`; damage is refused.
    /// `header` must be what the run was started with.
    pub fn resume(dir: impl AsRef<Path>, header: RunHeader, systems: Systems) -> Result<Self, KernelError> {
        let dir = dir.as_ref();
        // The process that made the run may have ended before the run's own name was durable.
        let parent = dir.parent().unwrap_or(Path::new(""));
        sync_path(parent).map_err(RunError::io(parent))?;
        Self::resume_on(dir, Arc::new(Disk::new(dir)), header, systems)
    }

    /// `resume` over another medium than the disk, for fault injection; `dir` still holds the lock.
    pub fn resume_on(
        dir: &Path,
        storage: Arc<dyn Storage>,
        header: RunHeader,
        systems: Systems,
    ) -> Result<Self, KernelError> {
        if !dir.is_dir() {
            return Err(RunError::NotARun(dir.to_path_buf()).into());
        }
        let lock = Lock::take(dir)?;
        let mut replay = Replay::over(Arc::clone(&storage))?;
        replay.finish()?;
        let (mut world, cursor, lineage) = replay.into_parts();
        let lineage = lineage.ok_or(RunError::NotStarted)?;
        header.check(&lineage)?;
        let position = cursor.position();
        let recovered = log::recover(storage.as_ref(), cursor.tail(), position.step)?;
        log::settle(storage.as_ref(), &cursor)?;
        let mut tail = cursor.tail().clone();
        tail.torn = None;
        let writer = Writer::open(Arc::clone(&storage), cursor.run(), position, &tail)?;
        let blobs = BlobStore::new(Arc::clone(&storage));
        let effects = EffectStore::new(Arc::clone(&storage), Asking::Allowed);
        blobs.sweep()?;
        effects.sweep()?;
        if systems.keeps() == Keep::Iterations {
            blobs.remove(&superseded(&world.view()))?;
        }
        let reader = BlobReader::new(blobs.clone());
        decide::install(&mut world, &systems, reader.clone(), effects.clone());
        let timing = TimingLog::new(Arc::clone(&storage));
        Ok(Self {
            storage,
            lineage,
            systems,
            world,
            writer,
            blobs,
            reader,
            effects,
            timing,
            keyframes: None,
            recovered,
            poisoned: false,
            _lock: lock,
        })
    }

    /// Lets the next system decide and commits what it decided; `None` when the run is over.
    ///
    /// The order is what makes a crash harmless: blobs durable, then the group, then deletions. The world moves in memory
    /// before the group is written, because the commit carries its digest; if writing fails, this kernel is poisoned and
    /// that world is never seen.
    pub fn step(&mut self) -> Result<Option<Committed>, KernelError> {
        if self.poisoned {
            return Err(KernelError::Poisoned);
        }
        let Some((system, decision)) = self.decide()? else { return Ok(None) };
        let bodies = encode(system, &decision)?;
        self.check_blobs(system, &decision)?;
        self.poisoned = true;
        let committed = self.commit(system, decision, &bodies)?;
        self.poisoned = false;
        Ok(Some(committed))
    }

    /// Steps until the run is over; returns how many steps that took.
    pub fn run(&mut self, mut observe: impl FnMut(&Committed)) -> Result<u64, KernelError> {
        let mut steps = 0;
        while let Some(committed) = self.step()? {
            observe(&committed);
            steps += 1;
        }
        Ok(steps)
    }

    fn decide(&mut self) -> Result<Option<(&'static str, Decision)>, KernelError> {
        decide::decide(&mut self.world, &self.systems).map_err(|error: Undecided| {
            self.poisoned = error.poisons();
            error.into()
        })
    }

    /// Every blob that an event names must be there, or come with the decision.
    fn check_blobs(&self, system: &'static str, decision: &Decision) -> Result<(), KernelError> {
        for event in &decision.events {
            for digest in event.blobs() {
                if !decision.blobs.contains_key(&digest) && !self.reader.contains(digest)? {
                    return Err(KernelError::MissingBlob { system, event: event.name(), digest });
                }
            }
        }
        Ok(())
    }

    fn commit(
        &mut self,
        system: &'static str,
        decision: Decision,
        bodies: &[(u16, AlignedVec)],
    ) -> Result<Committed, KernelError> {
        let Decision { events, blobs, draws } = decision;
        // What no event names would be garbage from the start.
        let named: std::collections::BTreeSet<Digest> = events.iter().flat_map(Event::blobs).collect();
        let stored = blobs.iter().filter(|(digest, _)| named.contains(digest));
        self.blobs.write(stored.map(|(digest, bytes)| (*digest, bytes.as_slice())))?;
        let token = Token::new();
        for event in &events {
            self.world.apply(event.clone(), &token);
        }
        let world = self.world.digest();
        let ends = events.iter().any(|event| matches!(event, Event::IterationFinished(_)));
        let sealed = if ends { Sealed::Yes } else { Sealed::No };
        let bodies = bodies.iter().map(|(schema, body)| (*schema, body.as_slice()));
        let commit = self.writer.commit(bodies, world, draws, sealed)?;
        self.keep_keyframe(&commit);
        if ends && self.systems.keeps() == Keep::Iterations {
            self.blobs.remove(&superseded(&self.world.view()))?;
        }
        Ok(Committed { system, events, commit })
    }

    /// Keyframes are written from now on, so that any step of the run can be reached fast.
    pub fn keep_keyframes(&mut self, spacing: Spacing) {
        self.keyframes = Some(spacing);
    }

    /// A keyframe that cannot be written is done without: it is derived, and nothing depends on it.
    fn keep_keyframe(&self, commit: &Commit) {
        if !self.keyframes.is_some_and(|spacing| spacing.is_due(commit)) {
            return;
        }
        let (segment, end) = self.writer.end();
        let written = keyframe::write_at(self.storage.as_ref(), segment, end, commit, &self.world);
        if let Err(error) = written {
            tracing::warn!(step = %commit.step, %error, "the keyframe was not written");
        }
    }

    /// The world as it is now.
    pub fn view(&self) -> WorldView<'_> {
        self.world.view()
    }

    /// The world as it is now, with digest and dump.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Where the run comes from, and what it is.
    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// The step that comes next.
    pub fn next_step(&self) -> Step {
        self.writer.position().step
    }

    /// Chain hash of the last commit.
    pub fn chain(&self) -> Digest {
        self.writer.position().chain
    }

    /// The system that decides next; `None` when the run is over.
    pub fn next_system(&self) -> Option<&'static str> {
        self.systems.next(&self.world.view())
    }

    /// The note of a torn tail that was cut off when the run was opened.
    pub fn recovered(&self) -> Option<&str> {
        self.recovered.as_deref()
    }

    /// The blobs.
    pub fn blobs(&self) -> &BlobReader {
        &self.reader
    }

    /// Notes what a step cost in the sidecar that nothing hashes.
    pub fn note_timing(&mut self, timing: &Timing) -> Result<(), KernelError> {
        self.timing.note(timing).map_err(|error| RunError::Io { path: "timing.jsonl".into(), error }.into())
    }

    /// Rebuilds the world from its own components, with entities spawned in an order drawn from `seed`. Nothing that a
    /// decision may depend on changes: the metamorphic test does this before every step and requires the same chain.
    pub fn rebuild_world(&mut self, seed: u64) {
        let mut order = Stream::new(seed, &StreamKey::new("rebuild"));
        self.world = self.world.rebuilt(&mut order);
        decide::install(&mut self.world, &self.systems, self.reader.clone(), self.effects.clone());
    }

    /// The medium of the run directory.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }
}

/// The bodies of a decision's events; refuses what cannot be stored.
fn encode(system: &'static str, decision: &Decision) -> Result<Vec<(u16, AlignedVec)>, KernelError> {
    let bodies = decision.events.iter().map(|event| match event.encode() {
        Ok(body) => Ok((event.schema(), body)),
        Err(error) => Err(KernelError::Encode { system, error }),
    });
    bodies.collect()
}
