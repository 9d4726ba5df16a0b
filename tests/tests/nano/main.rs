//! What a run of nano must show: the same bits everywhere, everything in it, and every decision confirmed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

mod ahead;
mod company;
mod curriculum;
mod damage;
mod durability;
mod events;
mod filling;
mod forks;
mod format;
mod held_out;
mod lag;
mod lock;
mod log_probs;
mod memory;
mod metamorphic;
mod outside;
mod refusals;
mod replay;
mod resume;
mod same_bits;
mod shadow;
mod show;
mod stories;
mod tampered;
mod verify;
