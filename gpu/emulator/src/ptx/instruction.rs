//! Instructions that a thread executes: their operands are places of its frame.

use super::frame::Slot;
use super::shuffle::Shuffle;
use super::types::Width;

/// Executed where its guard holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub(super) guard: Option<Guard>,
    pub(super) operation: Operation,
    /// The line of the text.
    pub(super) line: usize,
}

/// A predicate and what it has to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    pub(super) predicate: Slot,
    pub(super) wanted: bool,
}

/// Values as they lie in a frame: in the low bits, the others 0; a predicate is 0 or 1.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    /// `to = from`.
    Copy { to: Slot, from: Slot },
    /// `to = apply(a)`.
    One { apply: fn(u64) -> u64, to: Slot, a: Slot },
    /// `to = apply(a, b)`.
    Two { apply: fn(u64, u64) -> u64, to: Slot, a: Slot, b: Slot },
    /// `to = apply(a, b)`, which is not defined for all `b`.
    Quotient { apply: fn(u64, u64) -> Option<u64>, to: Slot, a: Slot, b: Slot },
    /// `to = apply(a, b, c)`.
    Three { apply: fn(u64, u64, u64) -> u64, to: Slot, a: Slot, b: Slot, c: Slot },
    /// Nothing, where the predicate was written.
    Written { predicate: Slot },
    /// Registers from memory.
    Load { from: Place, width: Width, to: Registers },
    /// Registers to memory.
    Store { to: Place, width: Width, from: Registers },
    /// `to = memory; memory = apply(memory, operand)` at once.
    Atomic { apply: fn(u64, u64) -> u64, place: Place, width: Width, to: Slot, operand: Slot },
    /// On to another instruction.
    Branch { target: usize },
    /// Waits for all threads of the block.
    Barrier,
    /// Waits for all lanes of the warp.
    Shuffle(Shuffle),
    /// The thread's end.
    Return,
}

/// A place in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) space: Space,
    pub(super) address: Slot,
    /// Bytes to be added.
    pub(super) offset: i64,
}

/// Which memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// The device's.
    Global,
    /// The block's.
    Shared,
}

/// Registers for numbers that lie side by side.
#[derive(Clone, Copy, Debug)]
pub(super) enum Registers {
    One(Slot),
    Four([Slot; 4]),
}

impl Registers {
    pub(super) fn slots(&self) -> &[Slot] {
        match self {
            Self::One(slot) => std::slice::from_ref(slot),
            Self::Four(slots) => slots,
        }
    }
}
