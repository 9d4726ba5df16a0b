//! gpu

pub mod math;
