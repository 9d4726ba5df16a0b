//! Scenarios: what a run is made of. The schema of scenario files, the files that ship,
//! the embedded world (procedural Python repositories with injected faults), the
//! trees that hold repositories, and the source of randomness that both draw from.
//!
//! Architecture invariant: nothing here runs Python, reads a file or a clock, or knows of events. Whatever is drawn
//! is a pure function of its arguments and of the [`draws::Draws`] handed in.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking"))]

pub mod assets;
pub mod draws;
pub mod repository;
pub mod schema;
pub mod world;
