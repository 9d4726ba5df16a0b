//! Why PTX is not replayed, and why a replay ends early.

use thiserror::Error;

use super::memory::Access;

/// A text that is not replayed, with the line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {reason}")]
pub struct ParseError {
    /// Lines count from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// Something else stands where the grammar wants this.
    #[error("found `{found}` where {wanted} is wanted")]
    Unexpected {
        /// What stands there.
        found: String,
        /// What should.
        wanted: &'static str,
    },
    /// A directive, or one of its values, outside of the subset.
    #[error("`{0}` is not among what is replayed")]
    Directive(String),
    /// An instruction or a modifier outside of the subset.
    #[error("`{0}` is not among the instructions that are replayed")]
    Opcode(String),
    /// A name that nothing declares.
    #[error("there is no {what} `{name}`")]
    Undeclared {
        /// Register, label, parameter, variable.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name that is declared twice.
    #[error("`{0}` is declared twice")]
    Redeclared(String),
    /// An operand that its instruction does not take.
    #[error("`{opcode}` does not take {operand}")]
    Operand {
        /// The instruction.
        opcode: String,
        /// What it was given.
        operand: String,
    },
    /// Another number of operands.
    #[error("`{opcode}` takes {wanted} operands, not {found}")]
    Operands {
        /// The instruction.
        opcode: String,
        /// How many it takes.
        wanted: usize,
        /// How many it was given.
        found: usize,
    },
    /// The text goes on behind its last instruction.
    #[error("`{0}` does not end with a return or a branch")]
    Endless(String),
}

/// Why a kernel was not replayed to its end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// No device would take the launch.
    #[error("{kernel}: {reason}")]
    Launch {
        /// The kernel's name.
        kernel: String,
        /// Why not.
        reason: String,
    },
    /// A thread did what no thread may do.
    #[error("{kernel}: {fault}")]
    Thread {
        /// The kernel's name.
        kernel: String,
        /// What it did, and where.
        fault: Fault,
    },
    /// Threads that have to arrive together do not.
    #[error(
        "{kernel}: divergent {what}: thread {waiting:?} waits in line {line}, thread {other:?} {elsewhere}"
    )]
    Divergent {
        /// The kernel's name.
        kernel: String,
        /// A barrier or a shuffle.
        what: &'static str,
        /// A thread that waits.
        waiting: [u32; 3],
        /// The line where it waits.
        line: usize,
        /// One that is not there.
        other: [u32; 3],
        /// Where that one is.
        elsewhere: String,
    },
}

/// What a thread did, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {cause} by thread {thread:?} of block {block:?}")]
pub struct Fault {
    /// What it did.
    pub cause: Cause,
    /// The instruction's line.
    pub line: usize,
    /// The thread's place in its block.
    pub thread: [u32; 3],
    /// The block's place in the grid.
    pub block: [u32; 3],
}

/// What no thread may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Cause {
    /// A stray access.
    #[error(transparent)]
    Access(#[from] Access),
    /// A division by zero: every device may give another result.
    #[error("a division by zero")]
    Division,
    /// A decision by a predicate that nobody wrote.
    #[error("a predicate without a value")]
    Predicate,
    /// A shuffle of a part of the warp.
    #[error("a shuffle of a part of the warp")]
    PartialWarp,
    /// A thread that goes on and on.
    #[error("no end after {0} instructions")]
    Endless(u64),
}
