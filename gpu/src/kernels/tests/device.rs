//! Where kernels run, and how their results are compared.

use super::memory::{Piece, Place};
use super::replay::Replay;
use crate::cuda::{self, DeviceError};
use crate::kernels::{Address, Launch};
use std::path::Path;
use std::sync::OnceLock;
use tadpole_emulator::ptx::ReplayError;
use tadpole_emulator::{Emulator, Guard, Order, Sources, Stopped};
use thiserror::Error;

/// In which order threads run and at which side of its memory a kernel is watched most closely.
const SETTINGS: [(Order, Guard); 4] = [
    (Order::Forward, Guard::Behind),
    (Order::Reverse, Guard::Before),
    (Order::Shuffled(1), Guard::Behind),
    (Order::Shuffled(2), Guard::Before),
];

/// The same for PTX that is replayed; its memory is watched at both sides.
const REPLAYED: [Order; 3] = [Order::Forward, Order::Reverse, Order::Shuffled(1)];

/// Why a kernel is not right.
#[derive(Clone, Debug, PartialEq, Error)]
pub(super) enum Failure {
    /// It was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Its PTX was not replayed to its end.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A real device cannot run it.
    #[error(transparent)]
    Device(#[from] DeviceError),
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
        let mut device = Device { place: Place::Emulated(emulator, order, guard), pieces: Vec::new() };
        check(&mut device).map_err(|failure| (order, failure))?;
    }
    Ok(())
}

/// Carries out a check of the PTX in every order.
pub(super) fn replayed(replay: &Replay, check: Check) -> Result<(), (Order, Failure)> {
    for order in REPLAYED {
        let mut device = Device { place: Place::replayed(replay, order), pieces: Vec::new() };
        check(&mut device).map_err(|failure| (order, failure))?;
    }
    Ok(())
}

/// Set where there is a real device, on which checks then run.
const REAL_DEVICE: &str = "TADPOLE_REAL_DEVICE";

/// Requires a check to hold in every order, of the sources and of the PTX; or on the real device, which has an order of its
/// own.
pub(super) fn holds(check: Check) {
    if std::env::var_os(REAL_DEVICE).is_some() {
        let device = cuda::device::Device::shared().unwrap_or_else(|error| panic!("{error}"));
        let held = check(&mut Device { place: Place::Real(device), pieces: Vec::new() });
        return held.unwrap_or_else(|failure| panic!("on the real device: {failure}"));
    }
    if let Err((order, failure)) = in_every_order(emulator(), check) {
        panic!("{order:?}: {failure}");
    }
    if let Err((order, failure)) = replayed(Replay::committed(), check) {
        panic!("PTX, {order:?}: {failure}");
    }
}

/// An emulated device in one setting, or a real one.
pub(super) struct Device<'e> {
    place: Place<'e>,
    pieces: Vec<Piece<'e>>,
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

impl Device<'_> {
    /// Numbers in device memory.
    pub(super) fn put<T: Number>(&mut self, values: &[T]) -> Address {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
        let address = self.memory(bytes.len());
        if let Some(piece) = self.pieces.last_mut() {
            piece.write(&bytes);
        }
        address
    }

    /// Memory for so many `f32` that nobody has written: NaN.
    pub(super) fn room(&mut self, len: usize) -> Address {
        self.memory(len * size_of::<f32>())
    }

    fn memory(&mut self, bytes: usize) -> Address {
        let piece = self.place.allocate(bytes);
        let address = piece.address();
        self.pieces.push(piece);
        address
    }

    /// Everything in the memory that begins at an address.
    pub(super) fn read<T: Number>(&self, address: Address) -> Vec<T> {
        let piece = self.pieces.iter().rev().find(|piece| piece.address() == address);
        let bytes = piece.expect("an address that was given out").read();
        bytes.chunks_exact(size_of::<T>()).map(T::from_bytes).collect()
    }

    /// Runs a kernel.
    pub(super) fn run<L: Launch>(&self, launch: &L) -> Result<(), Failure> {
        self.place.launch(launch)
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
