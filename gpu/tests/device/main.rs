//! The backend on a CUDA device, on an emulated one: the code that talks to the device is the real one, the driver's
//! library is a stand-in over the emulator.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::float_cmp,
    missing_docs,
    reason = "tests fail by panicking and compare bits"
)]

mod checkpoints;
mod computing;
mod sample;
