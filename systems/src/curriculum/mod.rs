//! TaskPilot: generate, validate, calibrate, then admit, refine or reject. Every look is an event.

mod calibrate;
mod close;
mod generate;
mod judge;
pub mod round;
pub mod rule;
pub mod stage;
mod validate;

pub use calibrate::calibrate;
pub use close::close;
pub use generate::generate;
pub use judge::judge;
pub use validate::{Soundness, examine, validate};
