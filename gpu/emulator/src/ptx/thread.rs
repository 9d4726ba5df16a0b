//! Executes one thread.

use super::error::{Cause, Fault};
use super::frame::{Position, Slot};
use super::instruction::{Guard, Instruction, Operation, Place, Registers, Space};
use super::memory::{Access, Memory, aligned};
use super::types::Width;

/// A thread that has executed so many instructions is taken for one that has no end.
const MOST_INSTRUCTIONS: u64 = 1 << 24;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It can go on.
    Ready,
    /// It waits for its block.
    AtBarrier,
    /// It waits for its warp.
    AtShuffle,
    /// It has ended.
    Done,
}

/// A thread of a block.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) values: Vec<u64>,
    pub(super) position: Position,
    pub(super) state: State,
    /// The next instruction; of a thread that waits, the one at which it does.
    pub(super) next: usize,
    /// Instructions executed.
    pub(super) executed: u64,
}

/// What a thread can reach.
pub(super) struct Reach<'r> {
    pub(super) global: &'r mut Memory,
    pub(super) shared: &'r mut Memory,
}

impl Thread {
    pub(super) fn get(&self, slot: Slot) -> u64 {
        self.values[slot.index()]
    }

    pub(super) fn set(&mut self, slot: Slot, value: u64) {
        self.values[slot.index()] = value;
    }

    /// Executes up to where it waits, or to its end.
    pub(super) fn run(&mut self, code: &[Instruction], reach: &mut Reach<'_>) -> Result<(), Fault> {
        while self.executed < MOST_INSTRUCTIONS {
            self.executed += 1;
            let instruction = &code[self.next];
            self.step(instruction, reach).map_err(|cause| self.fault(instruction, cause))?;
            if self.state != State::Ready {
                return Ok(());
            }
        }
        Err(self.fault(&code[self.next], Cause::Endless(MOST_INSTRUCTIONS)))
    }

    /// Behind what it waits at.
    pub(super) fn go_on(&mut self) {
        self.state = State::Ready;
        self.next += 1;
    }

    /// What it did, and where.
    pub(super) fn fault(&self, instruction: &Instruction, cause: Cause) -> Fault {
        let Position { thread, block, .. } = self.position;
        Fault { cause, line: instruction.line, thread, block }
    }

    fn step(&mut self, instruction: &Instruction, reach: &mut Reach<'_>) -> Result<(), Cause> {
        if let Some(guard) = instruction.guard
            && !self.holds(guard)?
        {
            self.next += 1;
            return Ok(());
        }
        match instruction.operation {
            Operation::Copy { to, from } => self.set(to, self.get(from)),
            Operation::One { apply, to, a } => self.set(to, apply(self.get(a))),
            Operation::Two { apply, to, a, b } => self.set(to, apply(self.get(a), self.get(b))),
            Operation::Quotient { apply, to, a, b } => {
                self.set(to, apply(self.get(a), self.get(b)).ok_or(Cause::Division)?);
            }
            Operation::Three { apply, to, a, b, c } => {
                self.set(to, apply(self.get(a), self.get(b), self.get(c)));
            }
            Operation::Written { predicate } => _ = self.holds(Guard { predicate, wanted: true })?,
            Operation::Load { from, width, to } => self.load(reach.of(from.space), from, width, &to)?,
            Operation::Store { to, width, from } => self.store(reach.of(to.space), to, width, &from)?,
            Operation::Atomic { apply, place, width, to, operand } => {
                let memory = reach.of(place.space);
                let address = self.address(place, width.bytes())?;
                let old = memory.load(address, width)?;
                memory.store(address, width, apply(old, self.get(operand)))?;
                self.set(to, old);
            }
            Operation::Branch { target } => {
                self.next = target;
                return Ok(());
            }
            Operation::Barrier => {
                self.state = State::AtBarrier;
                return Ok(());
            }
            Operation::Shuffle(_) => {
                self.state = State::AtShuffle;
                return Ok(());
            }
            Operation::Return => {
                self.state = State::Done;
                return Ok(());
            }
        }
        self.next += 1;
        Ok(())
    }

    fn holds(&self, guard: Guard) -> Result<bool, Cause> {
        match self.get(guard.predicate) {
            0 => Ok(!guard.wanted),
            1 => Ok(guard.wanted),
            _ => Err(Cause::Predicate),
        }
    }

    fn load(&mut self, memory: &Memory, from: Place, width: Width, to: &Registers) -> Result<(), Access> {
        let slots = to.slots();
        let mut address = self.address(from, slots.len() * width.bytes())?;
        for &slot in slots {
            self.set(slot, memory.load(address, width)?);
            address = address.wrapping_add(width.bytes() as u64);
        }
        Ok(())
    }

    fn store(&self, memory: &mut Memory, to: Place, width: Width, from: &Registers) -> Result<(), Access> {
        let slots = from.slots();
        let mut address = self.address(to, slots.len() * width.bytes())?;
        for &slot in slots {
            memory.store(address, width, self.get(slot))?;
            address = address.wrapping_add(width.bytes() as u64);
        }
        Ok(())
    }

    /// An address at which so many bytes may be moved.
    fn address(&self, place: Place, bytes: usize) -> Result<u64, Access> {
        let address = self.get(place.address).wrapping_add_signed(place.offset);
        aligned(address, bytes).map(|()| address)
    }
}

impl Reach<'_> {
    fn of(&mut self, space: Space) -> &mut Memory {
        match space {
            Space::Global => self.global,
            Space::Shared => self.shared,
        }
    }
}
