//! Runs CUDA kernels on a processor, for tests.
//!
//! The kernels' sources are compiled as plain C++ against the shim in `cxx/`, with the system's C++ compiler, when a test
//! asks for them: nothing else of this workspace needs one. Each CUDA thread is a fiber. What the emulator adds to a
//! device is that it looks: barriers and warp operations that not all threads reach, accesses outside of memory, reads
//! of shared memory that nobody wrote, and results that depend on the order in which threads happen to run.
//!
//! ```text
//! source    the kernels' text, its entry points; planting faults
//! compile   text to shared object, cached by content
//! emulator  load, allocate, launch
//! ptx       replays what the CUDA compiler made of the same sources
//! machine   programs that look for a CUDA driver find the emulator
//! ```

mod compile;
mod emulator;
mod machine;
pub mod ptx;
mod source;

pub use compile::CompileError;
pub use emulator::{Call, Emulator, Guard, LoadError, Memory, Order, Stopped};
pub use machine::{Machine, MachineError};
pub use source::{Parameter, PlantError, Signature, Sources};
