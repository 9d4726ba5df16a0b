//! Memory and launches: on the emulator, of the PTX that is replayed, or on a real device.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::device::Failure;
use super::replay::Replay;
use crate::cuda::buffer::Buffer;
use crate::cuda::device::Device;
use crate::kernels::{Address, Argument, Launch};
use tadpole_emulator::{Call, Emulator, Guard, Memory, Order, ptx};

/// Where kernels run.
pub(super) enum Place<'e> {
    /// On the emulator, in one setting.
    Emulated(&'e Emulator, Order, Guard),
    /// On the processor, instruction by instruction.
    Replayed(&'e Replay, Order, Rc<RefCell<ptx::Memory>>),
    /// On a real device.
    Real(Arc<Device>),
}

/// A piece of memory.
pub(super) enum Piece<'e> {
    /// Between guard pages.
    Emulated(Memory<'e>),
    /// Where it begins in the memory of a replay.
    Replayed(Rc<RefCell<ptx::Memory>>, u64),
    /// On a real device; so many bytes.
    Real(Arc<Device>, Buffer<u8>, usize),
}

impl<'e> Place<'e> {
    /// For a replay with memory of its own.
    pub(super) fn replayed(replay: &'e Replay, order: Order) -> Self {
        Self::Replayed(replay, order, Rc::new(RefCell::new(ptx::Memory::global())))
    }

    /// Memory in which every number is a NaN.
    pub(super) fn allocate(&self, bytes: usize) -> Piece<'e> {
        match self {
            Self::Emulated(emulator, _, guard) => {
                Piece::Emulated(emulator.allocate(bytes, *guard).expect("memory for a test"))
            }
            Self::Replayed(_, _, memory) => {
                let address = memory.borrow_mut().allocate(bytes);
                Piece::Replayed(Rc::clone(memory), address)
            }
            Self::Real(device) => {
                let poison = vec![0xff; bytes];
                let buffer = Buffer::of(device, "a test", &poison).unwrap_or_else(|error| panic!("{error}"));
                Piece::Real(Arc::clone(device), buffer, bytes)
            }
        }
    }

    /// Runs a kernel.
    pub(super) fn launch<L: Launch>(&self, launch: &L) -> Result<(), Failure> {
        let shape = launch.shape();
        if shape.is_empty() {
            return Ok(());
        }
        let arguments: Vec<[u8; 8]> = launch.arguments().into_iter().map(bytes).collect();
        let call = Call {
            name: L::NAME,
            grid: shape.grid,
            block: [shape.block, 1, 1],
            shared_bytes: shape.shared_bytes,
            arguments: &arguments,
        };
        match self {
            Self::Emulated(emulator, order, _) => emulator.launch(&call, *order)?,
            Self::Replayed(replay, order, memory) => {
                replay.module(L::FILE).launch(&call, *order, &mut memory.borrow_mut())?;
            }
            Self::Real(device) => device.launch(launch)?,
        }
        Ok(())
    }
}

impl Piece<'_> {
    /// Where it begins.
    pub(super) fn address(&self) -> Address {
        match self {
            Self::Emulated(memory) => Address(memory.address()),
            Self::Replayed(_, address) => Address(*address),
            Self::Real(_, buffer, _) => buffer.address(),
        }
    }

    /// Writes all of it.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        match self {
            Self::Emulated(memory) => memory.write(bytes),
            Self::Replayed(memory, address) => {
                memory
                    .borrow_mut()
                    .piece_mut(*address)
                    .expect("a piece that was given out")
                    .copy_from_slice(bytes);
            }
            Self::Real(device, buffer, _) => {
                buffer.write(device, bytes).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }

    /// What is in it.
    pub(super) fn read(&self) -> Vec<u8> {
        match self {
            Self::Emulated(memory) => memory.read(),
            Self::Replayed(memory, address) => {
                memory.borrow().piece(*address).expect("a piece that was given out").to_vec()
            }
            Self::Real(device, buffer, len) => {
                let mut bytes = vec![0; *len];
                buffer.read(device, &mut bytes).unwrap_or_else(|error| panic!("{error}"));
                bytes
            }
        }
    }
}

/// An argument as the launch has it: its own bytes first.
fn bytes(argument: Argument) -> [u8; 8] {
    let mut bytes = [0; 8];
    let own = match argument {
        Argument::Address(Address(value)) | Argument::U64(value) => value.to_ne_bytes().to_vec(),
        Argument::U32(value) => value.to_ne_bytes().to_vec(),
        Argument::F32(value) => value.to_ne_bytes().to_vec(),
    };
    bytes[..own.len()].copy_from_slice(&own);
    bytes
}
