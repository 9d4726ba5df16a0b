//! The kernel as a whole, driven by a toy process: created, stepped, crashed, resumed, replayed, verified, forged.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "systems take and return what bevy asks for"
)]

mod crash;
mod damage;
mod effects;
mod faulty;
mod forks;
mod forks_upkeep;
mod golden;
mod keyframes;
mod lifecycle;
mod metamorphic;
mod retention;
mod rig;
mod samples;
mod systems;
mod toy;
mod upkeep;
mod verification;
