//! Events: facts in the past tense, and the only thing that changes the world.

mod payload;

pub use payload::*;

macro_rules! events {
    ($($(#[$doc:meta])* $id:literal $name:ident($payload:ident),)*) => {
        /// Anything that can happen.
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(tag = "event")]
        pub enum Event {
            $($(#[$doc])* $name($payload),)*
        }

        impl Event {
            /// The schema id that its frame carries: names kind and version.
            #[must_use]
            pub fn schema(&self) -> u16 {
                match self { $(Self::$name(_) => $id,)* }
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
}
