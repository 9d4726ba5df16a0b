//! The threads of a block: in which order they run, what they wait for, and what may not happen while they wait.

use super::decode::Code;
use super::error::{Cause, ReplayError};
use super::frame::Position;
use super::instruction::{Instruction, Operation};
use super::memory::Memory;
use super::order::Turns;
use super::shuffle::{LANES, Shuffle, WHOLE_WARP};
use super::thread::{Reach, State, Thread};

/// The threads of one block, until all are done.
pub(super) struct Block<'r> {
    kernel: &'r str,
    code: &'r [Instruction],
    threads: Vec<Thread>,
}

/// Where a launch's blocks run.
pub(super) struct Site<'r> {
    pub(super) kernel: &'r str,
    pub(super) code: &'r Code,
    /// What every thread's frame begins with.
    pub(super) values: &'r [u64],
    pub(super) grid_size: [u32; 3],
    pub(super) block_size: [u32; 3],
}

impl<'r> Block<'r> {
    /// The block at a place of the grid.
    pub(super) fn new(site: &Site<'r>, block: [u32; 3]) -> Self {
        let [width, height, depth] = site.block_size;
        let threads = (0..width * height * depth).map(|number| {
            let position = Position {
                thread: [number % width, number / width % height, number / (width * height)],
                block,
                block_size: site.block_size,
                grid_size: site.grid_size,
            };
            let mut values = site.values.to_vec();
            site.code.frame.place_thread(&mut values, &position);
            Thread { values, position, state: State::Ready, next: 0, executed: 0 }
        });
        Self { kernel: site.kernel, code: &site.code.instructions, threads: threads.collect() }
    }

    /// Runs all threads to their ends. Each goes as far as it can at every turn; turns are taken again after any wait.
    pub(super) fn run(
        &mut self,
        turns: &mut Turns,
        global: &mut Memory,
        shared: &mut Memory,
    ) -> Result<(), ReplayError> {
        let mut reach = Reach { global, shared };
        while self.threads.iter().any(|thread| thread.state != State::Done) {
            let lanes = turns.below(LANES);
            for warp in turns.below(self.threads.len() / LANES) {
                for &lane in &lanes {
                    let thread = &mut self.threads[warp * LANES + lane];
                    if thread.state == State::Ready {
                        let ran = thread.run(self.code, &mut reach);
                        ran.map_err(|fault| ReplayError::Thread { kernel: self.kernel.to_owned(), fault })?;
                    }
                }
            }
            if !self.exchange()? {
                self.release()?;
            }
        }
        Ok(())
    }

    /// Carries out the shuffles that whole warps have reached; says whether there were any.
    fn exchange(&mut self) -> Result<bool, ReplayError> {
        let mut any = false;
        for first in (0..self.threads.len()).step_by(LANES) {
            let warp = &self.threads[first..first + LANES];
            let Some(waiting) = warp.iter().find(|thread| thread.state == State::AtShuffle) else { continue };
            self.together(waiting, warp, "shuffle")?;
            let instruction = self.code[waiting.next];
            let Operation::Shuffle(shuffle) = instruction.operation else { continue };
            self.shuffle(first, &instruction, &shuffle)?;
            any = true;
        }
        Ok(any)
    }

    /// Gives each lane of a warp the number of the lane that it asks for.
    fn shuffle(
        &mut self,
        first: usize,
        instruction: &Instruction,
        shuffle: &Shuffle,
    ) -> Result<(), ReplayError> {
        let warp = &mut self.threads[first..first + LANES];
        let offered: Vec<u64> = warp.iter().map(|thread| thread.get(shuffle.value)).collect();
        for (lane, thread) in warp.iter_mut().enumerate() {
            if thread.get(shuffle.members) as u32 != WHOLE_WARP {
                let fault = thread.fault(instruction, Cause::PartialWarp);
                return Err(ReplayError::Thread { kernel: self.kernel.to_owned(), fault });
            }
            let (by, bounds) = (thread.get(shuffle.by) as u32, thread.get(shuffle.bounds) as u32);
            let (source, in_range) = shuffle.mode.source(lane as u32, by, bounds);
            thread.set(shuffle.to, offered[source as usize]);
            if let Some(slot) = shuffle.in_range {
                thread.set(slot, u64::from(in_range));
            }
            thread.go_on();
        }
        Ok(())
    }

    /// Lets the block go on where all threads have reached the same barrier.
    fn release(&mut self) -> Result<(), ReplayError> {
        let Some(waiting) = self.threads.iter().find(|thread| thread.state == State::AtBarrier) else {
            return Ok(());
        };
        self.together(waiting, &self.threads, "barrier")?;
        self.threads.iter_mut().for_each(Thread::go_on);
        Ok(())
    }

    /// Requires all threads to wait where one does.
    fn together(&self, waiting: &Thread, others: &[Thread], what: &'static str) -> Result<(), ReplayError> {
        let same = |other: &&Thread| other.state == waiting.state && other.next == waiting.next;
        let Some(other) = others.iter().find(|other| !same(other)) else { return Ok(()) };
        let elsewhere = match other.state {
            State::Done => "has ended".to_owned(),
            _ => format!("waits in line {}", self.code[other.next].line),
        };
        Err(ReplayError::Divergent {
            kernel: self.kernel.to_owned(),
            what,
            waiting: waiting.position.thread,
            line: self.code[waiting.next].line,
            other: other.position.thread,
            elsewhere,
        })
    }
}
