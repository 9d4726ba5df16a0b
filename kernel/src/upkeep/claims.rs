//! What the events of a log say must be there beside it.

use std::collections::BTreeMap;

use crate::event::{EffectRecordedV1, Event};
use crate::id::{Digest, Step};

/// Blobs and answers by digest, each with the step that named it first.
#[derive(Clone, Debug, Default)]
pub(super) struct Claims {
    pub(super) blobs: BTreeMap<Digest, Step>,
    /// By digest of the request.
    pub(super) answers: BTreeMap<Digest, Claimed>,
}

/// An answer that a decision used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claimed {
    pub(super) answer: Digest,
    pub(super) step: Step,
}

impl Claims {
    pub(super) fn add(&mut self, step: Step, event: &Event) {
        for digest in event.blobs() {
            self.blobs.entry(digest).or_insert(step);
        }
        if let Event::EffectRecorded(EffectRecordedV1 { kind: _, request, answer }) = event {
            self.answers.entry(*request).or_insert(Claimed { answer: *answer, step });
        }
    }
}
