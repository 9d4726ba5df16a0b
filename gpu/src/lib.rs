//! gpu

pub mod backend;
pub mod dppo;
mod error;
pub mod gemm;
pub mod math;
pub mod optim;
mod pool;
pub mod sample;
pub mod shape;
mod transformer;
pub mod vector;
pub mod weights;

pub use error::{ArithmeticError, Quantity};

/// The version of the definitions of this crate: a change of any result's bits is a change of this number.
pub const ARITHMETIC_VERSION: u32 = 1;
