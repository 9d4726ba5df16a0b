//! gpu

pub mod dppo;
pub mod math;
pub mod sample;
