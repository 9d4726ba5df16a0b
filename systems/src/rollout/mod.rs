//! Plays episodes: many at once on every core, each a pure function of policy version, task, seed and harness.

mod ahead;
mod assignment;
mod cohort;
mod deal;
mod follow;
mod guess;
mod lane;
mod live;
mod players;

pub use ahead::{Ahead, Prepared};
pub use assignment::{Assignment, Played};
pub(crate) use players::weights_of;
pub use players::{PlayError, Players};
