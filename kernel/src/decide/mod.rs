//! What a decider returns, and the table of systems that decide.

mod execute;
mod proposal;
mod systems;

use std::collections::BTreeMap;

pub use execute::Undecided;
pub(crate) use execute::{decide, install, propose};
pub use proposal::Proposal;
pub use systems::{Keep, Next, Systems};

use crate::draws::{DrawCount, Stream};
use crate::event::{Bulk, Event, INLINE_LIMIT};
use crate::id::Digest;

/// What one step consists of: events, the blobs that they name, and how much randomness went into them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The events, in order. Never empty.
    pub events: Vec<Event>,
    /// Blobs by digest. Those that an event names are stored, durably, before the events are.
    pub blobs: BTreeMap<Digest, Vec<u8>>,
    /// Randomness used.
    pub draws: DrawCount,
}

impl Decision {
    /// An empty decision, to be filled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps `bytes`: in the event below 64 KiB, as a blob from there on.
    pub fn bulk(&mut self, bytes: Vec<u8>) -> Bulk {
        if bytes.len() < INLINE_LIMIT { Bulk::Inline(bytes) } else { Bulk::Blob(self.blob(bytes)) }
    }

    /// Keeps `bytes` as a blob, whatever their length.
    pub fn blob(&mut self, bytes: Vec<u8>) -> Digest {
        let digest = Digest::of(&bytes);
        self.blobs.insert(digest, bytes);
        digest
    }

    /// Adds an event.
    pub fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Counts what was drawn from `stream`, once it is used up.
    pub fn count(&mut self, stream: &Stream) {
        self.draws.count(stream);
    }
}

/// What a system returns.
pub type DecideResult = Result<Decision, DecideError>;

/// The machine failed while deciding (a worker, a file, memory): nothing is committed, and the step may be tried again.
///
/// What the *policy* or a task does wrong is never this; it is an event.
#[derive(Debug, thiserror::Error)]
#[error("{context}")]
pub struct DecideError {
    context: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl DecideError {
    /// A failure that nothing lies behind.
    #[must_use]
    pub fn new(context: impl Into<String>) -> Self {
        Self { context: context.into(), source: None }
    }

    /// A failure with its cause.
    #[must_use]
    pub fn because(
        context: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { context: context.into(), source: Some(source.into()) }
    }
}

/// `result.context("while ...")?` in a system.
pub trait Context<T> {
    /// Names what was being done.
    fn context(self, context: impl Into<String>) -> Result<T, DecideError>;
}

impl<T, E: Into<Box<dyn std::error::Error + Send + Sync>>> Context<T> for Result<T, E> {
    fn context(self, context: impl Into<String>) -> Result<T, DecideError> {
        self.map_err(|error| DecideError::because(context, error))
    }
}
