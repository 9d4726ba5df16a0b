//! gpu

pub mod dppo;
pub mod gemm;
pub mod math;
pub mod optim;
pub mod sample;
pub mod shape;
pub mod vector;
pub mod weights;
