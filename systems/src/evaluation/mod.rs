//! Measures published policies on held-out sets.

mod evaluate;
pub mod plan;
pub mod statistics;

pub use evaluate::evaluate;
pub(crate) use evaluate::{held_out, tally};
