//! Plays episodes: many at once on every core, each a pure function of policy version, task, seed and harness.

mod assignment;
mod cohort;
mod deal;
mod follow;
mod guess;
mod lane;
mod live;
mod players;

pub use assignment::{Assignment, Played};
pub use players::{PlayError, Players};
