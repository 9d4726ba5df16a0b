//! Replays PTX on a processor: what the compiler made of the kernels, instruction by instruction.
//!
//! The emulator compiles the kernels' sources with another compiler than a device's; contraction, reordering or
//! predication by the CUDA compiler would pass it unseen. Here the PTX that ships is executed as it is written, so that it
//! can be held to the same references on the same inputs. (What an assembler makes of PTX for one device stays unseen.)
//!
//! *Invariant*: nothing is guessed. A directive, instruction, modifier, type or operand that is not listed here is an
//! error with its line, and so is an access outside of memory, a misaligned one, a division by zero, a barrier or a shuffle
//! that not all threads reach, a predicate that nobody wrote. What else nobody wrote is all ones: a NaN to whoever reads a float.
//!
//! ```text
//! lexer       text to tokens
//! syntax      what a module is made of; parse reads it
//! types       widths and classes of registers and operands
//! frame       a thread's registers, with constants and parameters beside them
//! operations  the instructions that only compute, each a line
//! decode      from syntax to instructions that name places of the frame
//! memory      pieces of memory, each far from the next
//! thread      executes one thread up to where it waits
//! block       the threads of a block: in which order they run, what they wait for
//! launch      modules, kernels, grids
//! ```

mod block;
mod decode;
mod error;
mod frame;
mod instruction;
mod launch;
mod lexer;
mod memory;
mod operations;
mod order;
mod parse;
mod shuffle;
mod syntax;
mod thread;
mod types;

pub use error::{Cause, Fault, ParseError, Reason, ReplayError};
pub use launch::Module;
pub use memory::{Access, Memory};
