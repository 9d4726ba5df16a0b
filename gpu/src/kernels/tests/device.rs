//! Where kernels run, and how their results are compared.

use crate::kernels::{Address, Argument, Launch};
use std::path::Path;
use std::sync::OnceLock;
use tadpole_emulator::{Call, Emulator, Guard, Memory, Order, Sources, Stopped};
use thiserror::Error;

/// In which order threads run and at which side of its memory a kernel is watched most closely.
const SETTINGS: [(Order, Guard); 4] = [
    (Order::Forward, Guard::Behind),
    (Order::Reverse, Guard::Before),
    (Order::Shuffled(1), Guard::Behind),
    (Order::Shuffled(2), Guard::Before),
];

/// Why a kernel is not right.
#[derive(Clone, Debug, PartialEq, Error)]
pub(super) enum Failure {
    /// It was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Its result is another.
    #[error("{what}[{index}] is {found}, not {expected}")]
    Differs { what: String, index: usize, found: String, expected: String },
}

/// A check of one kernel or several.
pub(super) type Check = fn(&mut Device<'_>) -> Result<(), Failure>;

/// The kernels of this crate.
pub(super) fn sources() -> Sources {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    Sources::read(&directory).expect("the kernels lie beside the crate")
}

/// Compiles and loads kernels.
pub(super) fn load(sources: &Sources) -> Emulator {
    let library = sources.compile(&[]).unwrap_or_else(|error| panic!("{error}"));
    Emulator::load(&library).unwrap_or_else(|error| panic!("{error}"))
}

/// The kernels as they are.
pub(super) fn emulator() -> &'static Emulator {
    static EMULATOR: OnceLock<Emulator> = OnceLock::new();
    EMULATOR.get_or_init(|| load(&sources()))
}

/// Carries out a check in every setting; the first failure with its setting.
pub(super) fn in_every_order(emulator: &Emulator, check: Check) -> Result<(), (Order, Failure)> {
    for (order, guard) in SETTINGS {
        let mut device = Device { emulator, order, guard, memories: Vec::new() };
        check(&mut device).map_err(|failure| (order, failure))?;
    }
    Ok(())
}

/// Requires a check to hold in every order.
pub(super) fn holds(check: Check) {
    if let Err((order, failure)) = in_every_order(emulator(), check) {
        panic!("{order:?}: {failure}");
    }
}

/// An emulated device in one setting.
pub(super) struct Device<'e> {
    emulator: &'e Emulator,
    order: Order,
    guard: Guard,
    memories: Vec<Memory<'e>>,
}

/// A number as it lies in device memory.
pub(super) trait Number: Copy {
    fn bytes(self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Self;
    /// Its bits; one pattern for every NaN.
    fn pattern(self) -> u64;
}

macro_rules! number {
    ($type:ty, |$value:ident| $pattern:expr) => {
        impl Number for $type {
            fn bytes(self) -> Vec<u8> {
                self.to_ne_bytes().to_vec()
            }
            fn from_bytes(bytes: &[u8]) -> Self {
                Self::from_ne_bytes(bytes.try_into().expect("as many bytes as the number has"))
            }
            fn pattern(self) -> u64 {
                let $value = self;
                $pattern
            }
        }
    };
}
number!(f32, |x| if x.is_nan() { u64::MAX } else { u64::from(x.to_bits()) });
number!(f64, |x| if x.is_nan() { u64::MAX } else { x.to_bits() });
number!(u8, |x| u64::from(x));
number!(u16, |x| u64::from(x));
number!(u32, |x| u64::from(x));
number!(u64, |x| x);

impl<'e> Device<'e> {
    /// Numbers in device memory.
    pub(super) fn put<T: Number>(&mut self, values: &[T]) -> Address {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
        let mut memory = self.memory(bytes.len());
        memory.write(&bytes);
        self.keep(memory)
    }

    /// Memory for so many `f32` that nobody has written: NaN.
    pub(super) fn room(&mut self, len: usize) -> Address {
        let memory = self.memory(len * size_of::<f32>());
        self.keep(memory)
    }

    fn memory(&self, bytes: usize) -> Memory<'e> {
        self.emulator.allocate(bytes, self.guard).expect("memory for a test")
    }

    fn keep(&mut self, memory: Memory<'e>) -> Address {
        let address = Address(memory.address());
        self.memories.push(memory);
        address
    }

    /// Everything in the memory that begins at an address.
    pub(super) fn read<T: Number>(&self, address: Address) -> Vec<T> {
        let memory = self.memories.iter().rev().find(|memory| memory.address() == address.0);
        let bytes = memory.expect("an address that was given out").read();
        bytes.chunks_exact(size_of::<T>()).map(T::from_bytes).collect()
    }

    /// Runs a kernel.
    pub(super) fn run<L: Launch>(&self, launch: &L) -> Result<(), Failure> {
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
        Ok(self.emulator.launch(&call, self.order)?)
    }

    /// Compares everything in a piece of memory.
    pub(super) fn expect<T: Number + std::fmt::Debug>(
        &self,
        what: &str,
        address: Address,
        expected: &[T],
    ) -> Result<(), Failure> {
        let found = self.read::<T>(address);
        assert_eq!(found.len(), expected.len(), "{what}: as many numbers as the reference has");
        let pairs = found.iter().zip(expected);
        match pairs.enumerate().find(|(_, (found, expected))| found.pattern() != expected.pattern()) {
            None => Ok(()),
            Some((index, (found, expected))) => {
                let text = |x: &T| format!("{x:?} ({:#x})", x.pattern());
                Err(Failure::Differs {
                    what: what.to_owned(),
                    index,
                    found: text(found),
                    expected: text(expected),
                })
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
