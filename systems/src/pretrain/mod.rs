//! Makes the base policy and its tokenizer: the stand-in for a downloaded base model. Deterministic, like a run.
//!
//! Scripted experts play episodes on training projects through the real harness and sandbox, imperfectly; the policy learns to
//! predict what they wrote. Held-out projects are never drawn here, not even for the tokenizer's text.

pub mod demonstration;
mod corpus;
mod schedule;
mod train;

pub use corpus::{Corpus, CorpusError};
pub use schedule::{rate_factor, steps_by_stage};
pub use train::{Pretrained, PretrainError, Pretraining, StepRecord, train_tokenizer};
