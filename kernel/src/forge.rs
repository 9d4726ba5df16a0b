//! Forging a log, for tests: an event is changed and every checksum, chain hash and (on request) world digest behind it is
//! made to fit. What comes out is a log in which only re-execution finds the lie.

use std::fs;
use std::path::{Path, PathBuf};

use crate::event::{EncodeError, Event};
use crate::id::{Digest, Step};
use crate::log::{Closing, GroupBuffer, SegmentHeader, segment_name};
use crate::run::{RunError, RunReader};
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
    let run = RunReader::open(dir)?;
    let mut forger = Forger::new(&run, worlds);
    let mut edit = Some(edit);
    for group in run.groups()? {
        let group = group.map_err(RunError::from)?;
        let mut bodies: Vec<(u16, Vec<u8>)> =
            group.bodies().map(|(schema, body)| (schema, body.to_vec())).collect();
        let mut events = crate::run::events(&group).collect::<Result<Vec<_>, _>>()?;
        if group.commit().step == step
            && let Some(edit) = edit.take()
        {
            let (_, event) = events.get_mut(index).ok_or(ForgeError::NoEvent { step, index })?;
            edit(event);
            bodies[index] = (event.schema(), event.encode()?.to_vec());
        }
        let events = events.into_iter().map(|(_, event)| event);
        forger.group(group.segment(), group.commit(), &bodies, events)?;
    }
    if edit.is_some() {
        return Err(ForgeError::NoEvent { step, index });
    }
    forger.write()
}

struct Forger {
    dir: PathBuf,
    run: Digest,
    worlds: Worlds,
    world: World,
    chain: Digest,
    segments: Vec<Vec<u8>>,
}

impl Forger {
    fn new(run: &RunReader, worlds: Worlds) -> Self {
        Self {
            dir: run.dir().to_path_buf(),
            run: run.run(),
            worlds,
            world: World::new(),
            chain: crate::log::genesis(run.run()),
            segments: Vec::new(),
        }
    }

    fn group(
        &mut self,
        segment: u32,
        was: &crate::log::Commit,
        bodies: &[(u16, Vec<u8>)],
        events: impl Iterator<Item = Event>,
    ) -> Result<(), RunError> {
        let token = Token::new();
        events.for_each(|event| self.world.apply(event, &token));
        let recomputed = self.world.digest();
        let world = if self.worlds == Worlds::Recomputed { recomputed } else { was.world };
        if self.segments.len() <= segment as usize {
            let header = SegmentHeader {
                index: segment,
                run: self.run,
                first: was.first,
                step: was.step,
                chain: self.chain,
            };
            self.segments.push(header.to_bytes().to_vec());
        }
        let mut buffer = GroupBuffer::default();
        for (schema, body) in bodies {
            buffer.push(self.run, was.step, was.first, *schema, body)?;
        }
        let closing = Closing { step: was.step, first: was.first, world, draws: was.draws, seals: was.seals };
        let (commit, bytes) = buffer.close(self.run, self.chain, closing);
        self.chain = commit.chain;
        if let Some(segment) = self.segments.last_mut() {
            segment.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn write(self) -> Result<(), ForgeError> {
        for (index, bytes) in (0..).zip(&self.segments) {
            let path = self.dir.join(segment_name(index));
            fs::write(&path, bytes).map_err(RunError::io(&path))?;
        }
        Ok(())
    }
}
