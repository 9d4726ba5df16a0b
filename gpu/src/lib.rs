//! gpu

pub mod dppo;
pub mod math;
pub mod optim;
pub mod sample;
pub mod shape;
pub mod weights;
