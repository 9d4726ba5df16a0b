//! What decides: every system of the recipe, and what they decide with.
//!
//! A system reads the world and returns events ([`phase`] picks which one is next). Around the systems stand their means:
//! the sandbox that runs code, the harness that an episode goes through, the tokenizer and codec that spell it, the rollout
//! engine that plays it, the learner that trains on it.
//!
//! *Architecture invariant*: nothing here writes to the world, the log or a blob; a system only says what happened.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking"))]

pub mod analysis;
pub mod assembly;
pub mod backend;
pub mod capability;
pub mod codec;
pub mod curriculum;
pub mod evaluation;
pub mod generator;
pub mod grading;
pub mod harness;
mod ids;
pub mod interpreter;
mod memory_peak;
pub mod meter;
pub mod open;
mod parallel;
pub mod phase;
pub mod pretrain;
pub mod rollout;
pub mod sandbox;
pub mod subject;
pub mod tokenizer;
pub mod turn;
pub mod update;
