//! The event-sourced kernel of Tadpole.

pub mod event;
pub mod id;
