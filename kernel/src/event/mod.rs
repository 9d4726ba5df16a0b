//! Events: facts in the past tense, and the only thing that changes the world.

mod encode;
mod payload;
mod upcast;

use rkyv::rancor::BoxedError;
use rkyv::util::AlignedVec;

pub use encode::{DecodeError, EncodeError};
pub use payload::*;

use crate::id::Digest;

macro_rules! events {
    ($($(#[$doc:meta])* $id:literal $name:ident($payload:ident),)*) => {
        /// Anything that can happen.
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(tag = "event")]
        pub enum Event {
            $($(#[$doc])* $name($payload),)*
        }

        impl Event {
            /// The names of all kinds, in the order of their schema ids.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// The schema id that its frame carries: names kind and version.
            #[must_use]
            pub fn schema(&self) -> u16 {
                match self { $(Self::$name(_) => $id,)* }
            }

            /// Its body: one rkyv archive.
            pub fn encode(&self) -> Result<AlignedVec, EncodeError> {
                self.check_finite()?;
                match self {
                    $(Self::$name(payload) => {
                        encode::archived(stringify!($name), rkyv::to_bytes::<BoxedError>(payload))
                    })*
                }
            }

            /// Reads a body. Safe against any bytes; `body` must be 16-aligned, as frames are.
            pub fn decode(schema: u16, body: &[u8]) -> Result<Self, DecodeError> {
                match schema {
                    $($id => encode::restored(stringify!($name), rkyv::from_bytes::<$payload, BoxedError>(body))
                        .map(Self::$name),)*
                    _ => upcast::upcast(schema, body),
                }
            }

            /// Its name, as people and filters write it.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => stringify!($name),)* }
            }
        }
    };
}

events! {
    /// See [`RunStartedV1`].
    0x0101 RunStarted(RunStartedV1),
    /// See [`PolicyPublishedV1`].
    0x0201 PolicyPublished(PolicyPublishedV1),
    /// See [`TaskHeldOutV1`].
    0x0301 TaskHeldOut(TaskHeldOutV1),
    /// See [`IterationStartedV1`].
    0x0401 IterationStarted(IterationStartedV1),
    /// See [`CandidateGeneratedV1`].
    0x0501 CandidateGenerated(CandidateGeneratedV1),
    /// See [`CandidateValidatedV1`].
    0x0601 CandidateValidated(CandidateValidatedV1),
    /// See [`CandidateRejectedV1`].
    0x0701 CandidateRejected(CandidateRejectedV1),
    /// See [`CandidateCalibratedV1`].
    0x0801 CandidateCalibrated(CandidateCalibratedV1),
    /// See [`TaskAdmittedV1`].
    0x0901 TaskAdmitted(TaskAdmittedV1),
    /// See [`BatchClosedV1`].
    0x0A01 BatchClosed(BatchClosedV1),
    /// See [`TrajectoryFinishedV1`].
    0x0B01 TrajectoryFinished(TrajectoryFinishedV1),
    /// See [`UpdateAppliedV1`].
    0x0C01 UpdateApplied(UpdateAppliedV1),
    /// See [`UpdateRefusedV1`].
    0x0D01 UpdateRefused(UpdateRefusedV1),
    /// See [`EvaluationFinishedV1`].
    0x0E01 EvaluationFinished(EvaluationFinishedV1),
    /// See [`EffectRecordedV1`].
    0x0F01 EffectRecorded(EffectRecordedV1),
    /// See [`IterationFinishedV1`].
    0x1001 IterationFinished(IterationFinishedV1),
    /// See [`RunFinishedV1`].
    0x1101 RunFinished(RunFinishedV1),
    /// See [`RunForkedV1`].
    0x1201 RunForked(RunForkedV1),
}

impl Event {
    /// Whether it says what the run is, rather than what happened in it.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        matches!(self, Self::RunStarted(_) | Self::RunForked(_))
    }

    /// The blobs that it names, in field order.
    #[must_use]
    pub fn blobs(&self) -> Vec<Digest> {
        let mut found = Vec::new();
        let mut bulk = |bulk: &Bulk| {
            if let Bulk::Blob(digest) = bulk {
                found.push(*digest);
            }
        };
        match self {
            Self::TaskHeldOut(event) => event.content.bulks().into_iter().for_each(&mut bulk),
            Self::CandidateGenerated(event) => event.content.bulks().into_iter().for_each(&mut bulk),
            Self::TrajectoryFinished(event) => bulk(&event.patch),
            Self::PolicyPublished(event) => found.push(event.weights),
            Self::UpdateApplied(event) => found.extend([event.weights, event.state]),
            Self::RunStarted(_)
            | Self::IterationStarted(_)
            | Self::CandidateValidated(_)
            | Self::CandidateRejected(_)
            | Self::CandidateCalibrated(_)
            | Self::TaskAdmitted(_)
            | Self::BatchClosed(_)
            | Self::UpdateRefused(_)
            | Self::EvaluationFinished(_)
            | Self::EffectRecorded(_)
            | Self::IterationFinished(_)
            | Self::RunFinished(_)
            | Self::RunForked(_) => {}
        }
        found
    }
}
