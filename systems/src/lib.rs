//! systems

pub mod interpreter;
pub mod sandbox;
