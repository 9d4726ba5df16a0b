//! How the CUDA kernels of `kernels/*.cu` are called: entry points, parameters, launch shapes.
//!
//! One struct a kernel, its fields in the order of the kernel's parameters. Whoever launches (a driver, the emulator of
//! the tests) takes what it needs from [`Launch`], so that names, parameter orders and grid arithmetic are written once.
//! A test holds every struct against the signature in the source.
//!
//! Sizes and strides count elements, not bytes. Matrices are stored row by row. A kernel whose grid is empty has nothing
//! to do and must not be launched.

#[macro_use]
mod describe;
mod attention;
mod convert;
mod elementwise;
mod embedding;
mod gemm;
mod loss;
mod norm;
mod optimiser;
mod rotate;

pub use attention::{Attend, AttendBackward, AttendBackwardKeys, Remember};
pub use convert::{FromBf16, ToBf16};
pub use describe::{Address, Argument, Entry, Kind, Launch, LaunchShape, Parameter};
pub use elementwise::{Add, Gated, GatedBackward};
pub use embedding::{Embed, EmbedGradient, NO_TOKEN, TakeRows};
pub use gemm::{GemmNn, GemmNt, GemmTn};
pub use loss::{LogSoftmax, LogitGradient, ObjectiveCode, TokenGradient};
pub use norm::{GainSum, Norm, NormBackward, NormGain};
pub use optimiser::{AdamW, Average, Clip, FirstNotFinite, Squares};
pub use rotate::{HeadGain, RopeTable, Rotate, RotateBackward};

/// What `faults` holds for a row in which nothing was refused.
pub const NO_FAULT: u32 = u32::MAX;

/// Every entry point, file by file.
pub const ENTRIES: &[Entry] = &[
    Entry::of::<GemmNn>(),
    Entry::of::<GemmNt>(),
    Entry::of::<GemmTn>(),
    Entry::of::<Embed>(),
    Entry::of::<EmbedGradient>(),
    Entry::of::<TakeRows>(),
    Entry::of::<Norm>(),
    Entry::of::<NormBackward>(),
    Entry::of::<NormGain>(),
    Entry::of::<GainSum>(),
    Entry::of::<RopeTable>(),
    Entry::of::<Rotate>(),
    Entry::of::<RotateBackward>(),
    Entry::of::<HeadGain>(),
    Entry::of::<Remember>(),
    Entry::of::<Attend>(),
    Entry::of::<AttendBackward>(),
    Entry::of::<AttendBackwardKeys>(),
    Entry::of::<Gated>(),
    Entry::of::<GatedBackward>(),
    Entry::of::<Add>(),
    Entry::of::<LogSoftmax>(),
    Entry::of::<TokenGradient>(),
    Entry::of::<LogitGradient>(),
    Entry::of::<FirstNotFinite>(),
    Entry::of::<Squares>(),
    Entry::of::<Clip>(),
    Entry::of::<AdamW>(),
    Entry::of::<Average>(),
    Entry::of::<ToBf16>(),
    Entry::of::<FromBf16>(),
];

#[cfg(test)]
mod tests;
