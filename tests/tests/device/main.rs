//! Runs on a CUDA device, on an emulated one: the binary is the real one, the driver's library that it finds is a stand-in
//! over the emulator.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

mod machines;
mod whole_run;
