//! Forging a log, for tests: an event is changed and every checksum, chain hash and (on request) world digest behind it is
//! made to fit. What comes out is a log in which only re-execution finds the lie.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rkyv::util::AlignedVec;

use crate::event::{DecodeError, EncodeError, Event};
use crate::id::{Digest, Sequence, Step};
use crate::log::{Closing, Commit, GroupBuffer, SegmentHeader, genesis, segment_header, segment_name};
use crate::run::{RunError, RunReader};
use crate::storage::Storage;
use crate::world::{Token, World};

/// How thorough the forger is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worlds {
    /// World digests stay as recorded: replay finds the lie as well.
    AsRecorded,
    /// World digests are recomputed from the forged events: only re-execution finds it.
    Recomputed,
}

/// Why nothing was forged.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    /// The run cannot be read or written.
    #[error(transparent)]
    Run(#[from] RunError),
    /// There is no such event.
    #[error("step {step} has no event {index}")]
    NoEvent {
        /// The step asked for.
        step: Step,
        /// The event asked for.
        index: usize,
    },
    /// The event cannot be read.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The changed event cannot be stored.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// Changes event `index` of `step` with `edit` and rewrites the log behind it. Nobody may hold the run.
pub fn forge(
    dir: impl AsRef<Path>,
    step: Step,
    index: usize,
    worlds: Worlds,
    edit: impl FnOnce(&mut Event),
) -> Result<(), ForgeError> {
    rewrite(dir.as_ref(), step, worlds, |bodies| {
        let (schema, body) = bodies.get_mut(index).ok_or(ForgeError::NoEvent { step, index })?;
        let mut event = Event::decode(*schema, body)?;
        edit(&mut event);
        *schema = event.schema();
        *body = event.encode()?;
        Ok(())
    })
}

/// Drops, adds or reorders the events of a step. Sequence numbers behind it are made to fit as well.
pub fn forge_step(
    dir: impl AsRef<Path>,
    step: Step,
    worlds: Worlds,
    edit: impl FnOnce(&mut Vec<Event>),
) -> Result<(), ForgeError> {
    rewrite(dir.as_ref(), step, worlds, |bodies| {
        let decoded = bodies.iter().map(|(schema, body)| Event::decode(*schema, body));
        let mut events = decoded.collect::<Result<Vec<Event>, _>>()?;
        edit(&mut events);
        bodies.clear();
        for event in events {
            bodies.push((event.schema(), event.encode()?));
        }
        Ok(())
    })
}

/// Changes the stored bytes of an event's body instead, whatever they then mean.
pub fn forge_bytes(
    dir: impl AsRef<Path>,
    step: Step,
    index: usize,
    worlds: Worlds,
    edit: impl FnOnce(&mut [u8]),
) -> Result<(), ForgeError> {
    rewrite(dir.as_ref(), step, worlds, |bodies| {
        let (_, body) = bodies.get_mut(index).ok_or(ForgeError::NoEvent { step, index })?;
        edit(body);
        Ok(())
    })
}

/// Bodies of a step's events, each with its schema.
type Bodies = Vec<(u16, AlignedVec)>;

fn rewrite(
    dir: &Path,
    step: Step,
    worlds: Worlds,
    edit: impl FnOnce(&mut Bodies) -> Result<(), ForgeError>,
) -> Result<(), ForgeError> {
    let run = RunReader::open(dir)?;
    let mut forger = Forger::new(&run, worlds);
    let mut edit = Some(edit);
    for group in run.groups()? {
        let group = group.map_err(RunError::from)?;
        let mut bodies: Bodies = group.bodies().map(|(schema, body)| (schema, aligned(body))).collect();
        if group.commit().step == step
            && let Some(edit) = edit.take()
        {
            edit(&mut bodies)?;
        }
        forger.group(group.segment(), group.commit(), &bodies)?;
    }
    if edit.is_some() {
        return Err(ForgeError::NoEvent { step, index: 0 });
    }
    forger.write()
}

fn aligned(bytes: &[u8]) -> AlignedVec {
    let mut copy = AlignedVec::with_capacity(bytes.len());
    copy.extend_from_slice(bytes);
    copy
}

struct Forger {
    dir: PathBuf,
    storage: Arc<dyn Storage>,
    /// The run that the segment being rewritten belongs to.
    run: Digest,
    worlds: Worlds,
    world: World,
    chain: Digest,
    /// Sequence of the next event.
    next: Sequence,
    segments: Vec<Vec<u8>>,
}

impl Forger {
    fn new(run: &RunReader, worlds: Worlds) -> Self {
        Self {
            dir: run.dir().to_path_buf(),
            storage: Arc::clone(run.storage()),
            run: run.lineage().started().run,
            worlds,
            world: World::new(),
            chain: genesis(run.lineage().started().run),
            next: Sequence(0),
            segments: Vec::new(),
        }
    }

    fn group(&mut self, segment: u32, was: &Commit, bodies: &[(u16, AlignedVec)]) -> Result<(), RunError> {
        let world = if self.worlds == Worlds::Recomputed { self.world_after(bodies) } else { was.world };
        let first = self.next;
        if self.segments.len() <= segment as usize {
            let was = segment_header(self.storage.as_ref(), segment)?.ok_or(RunError::NotStarted)?;
            self.run = was.run;
            self.segments.push(SegmentHeader { chain: self.chain, first, ..was }.to_bytes().to_vec());
        }
        let mut buffer = GroupBuffer::default();
        for (schema, body) in bodies {
            buffer.push(self.run, was.step, first, *schema, body)?;
        }
        let closing = Closing { step: was.step, first, world, draws: was.draws, seals: was.seals };
        let (commit, bytes) = buffer.close(self.run, self.chain, closing);
        self.chain = commit.chain;
        self.next = Sequence(first.0 + u64::from(commit.count));
        if let Some(segment) = self.segments.last_mut() {
            segment.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Digest of the world after these events; one that cannot be read leads nowhere.
    fn world_after(&mut self, bodies: &[(u16, AlignedVec)]) -> Digest {
        let token = Token::new();
        for (schema, body) in bodies {
            if let Ok(event) = Event::decode(*schema, body) {
                self.world.apply(event, &token);
            }
        }
        self.world.digest()
    }

    fn write(self) -> Result<(), ForgeError> {
        for (index, bytes) in (0..).zip(&self.segments) {
            let path = self.dir.join(segment_name(index));
            fs::write(&path, bytes).map_err(RunError::io(&path))?;
        }
        Ok(())
    }
}

/// The world that any events lead to, in a log or not: `apply` is total, and tests show it with this.
pub fn world_of(events: impl IntoIterator<Item = Event>) -> World {
    let mut world = World::new();
    let token = Token::new();
    events.into_iter().for_each(|event| world.apply(event, &token));
    world
}
