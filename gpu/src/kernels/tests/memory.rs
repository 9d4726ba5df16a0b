//! Memory and launches, on the emulator or on a real device.

use std::sync::Arc;

use super::device::Failure;
use crate::cuda::buffer::Buffer;
use crate::cuda::device::Device;
use crate::kernels::{Address, Argument, Launch};
use tadpole_emulator::{Call, Emulator, Guard, Memory, Order};

/// Where kernels run.
pub(super) enum Place<'e> {
    /// On the emulator, in one setting.
    Emulated(&'e Emulator, Order, Guard),
    /// On a real device.
    Real(Arc<Device>),
}

/// A piece of memory.
pub(super) enum Piece<'e> {
    /// Between guard pages.
    Emulated(Memory<'e>),
    /// On a real device; so many bytes.
    Real(Arc<Device>, Buffer<u8>, usize),
}

impl<'e> Place<'e> {
    /// Memory in which every number is a NaN.
    pub(super) fn allocate(&self, bytes: usize) -> Piece<'e> {
        match self {
            Self::Emulated(emulator, _, guard) => {
                Piece::Emulated(emulator.allocate(bytes, *guard).expect("memory for a test"))
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
        let (emulator, order) = match self {
            Self::Emulated(emulator, order, _) => (emulator, *order),
            Self::Real(device) => return Ok(device.launch(launch)?),
        };
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
        Ok(emulator.launch(&call, order)?)
    }
}

impl Piece<'_> {
    /// Where it begins.
    pub(super) fn address(&self) -> Address {
        match self {
            Self::Emulated(memory) => Address(memory.address()),
            Self::Real(_, buffer, _) => buffer.address(),
        }
    }

    /// Writes all of it.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        match self {
            Self::Emulated(memory) => memory.write(bytes),
            Self::Real(device, buffer, _) => {
                buffer.write(device, bytes).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }

    /// What is in it.
    pub(super) fn read(&self) -> Vec<u8> {
        match self {
            Self::Emulated(memory) => memory.read(),
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
