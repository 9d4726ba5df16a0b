//! gpu
pub mod shape;
pub mod weights;
