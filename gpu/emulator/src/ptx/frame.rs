//! A thread's registers. Constants, parameters and special registers lie beside them, so that every operand is a place.

use super::types::{Type, Width};

/// A place of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(u32);

impl Slot {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a register holds that nobody has written: a NaN of any width, and neither true nor false.
const POISON: u64 = u64::MAX;

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    /// `%tid`.
    Thread(Axis),
    /// `%ctaid`.
    Block(Axis),
    /// `%ntid`.
    BlockSize(Axis),
    /// `%nctaid`.
    GridSize(Axis),
}

/// Number of an axis: x, y, z.
pub(super) type Axis = usize;

impl Special {
    /// The register of a name: `%tid.x`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let (register, axis) = name.split_once('.')?;
        let axis = ["x", "y", "z"].iter().position(|&named| named == axis)?;
        match register {
            "%tid" => Some(Self::Thread(axis)),
            "%ctaid" => Some(Self::Block(axis)),
            "%ntid" => Some(Self::BlockSize(axis)),
            "%nctaid" => Some(Self::GridSize(axis)),
            _ => None,
        }
    }
}

/// Where a thread is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) thread: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) block_size: [u32; 3],
    pub(super) grid_size: [u32; 3],
}

/// How a kernel's frames are laid out, and what is in each before a thread begins.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    initial: Vec<u64>,
    specials: Vec<(Special, Slot)>,
    parameters: Vec<(Type, Slot)>,
}

impl Frame {
    /// A place for a register.
    pub(super) fn register(&mut self) -> Slot {
        self.place(POISON)
    }

    /// A place that holds a value.
    pub(super) fn constant(&mut self, value: u64) -> Slot {
        self.place(value)
    }

    /// A place for the next parameter.
    pub(super) fn parameter(&mut self, kind: Type) -> Slot {
        let slot = self.place(POISON);
        self.parameters.push((kind, slot));
        slot
    }

    /// The place of a special register.
    pub(super) fn special(&mut self, special: Special) -> Slot {
        if let Some(&(_, slot)) = self.specials.iter().find(|(known, _)| *known == special) {
            return slot;
        }
        let slot = self.place(POISON);
        self.specials.push((special, slot));
        slot
    }

    /// How many parameters there are.
    pub(super) fn parameters(&self) -> usize {
        self.parameters.len()
    }

    /// What every thread of a launch begins with: an argument's own bytes come first.
    pub(super) fn with(&self, arguments: &[[u8; 8]]) -> Vec<u64> {
        let mut values = self.initial.clone();
        for (&(kind, slot), argument) in self.parameters.iter().zip(arguments) {
            let mut own = [0; 8];
            let bytes = kind.width().map_or(0, Width::bytes);
            own[..bytes].copy_from_slice(&argument[..bytes]);
            values[slot.index()] = u64::from_ne_bytes(own);
        }
        values
    }

    /// Tells a thread where it is.
    pub(super) fn place_thread(&self, values: &mut [u64], position: &Position) {
        for &(special, slot) in &self.specials {
            let value = match special {
                Special::Thread(axis) => position.thread[axis],
                Special::Block(axis) => position.block[axis],
                Special::BlockSize(axis) => position.block_size[axis],
                Special::GridSize(axis) => position.grid_size[axis],
            };
            values[slot.index()] = u64::from(value);
        }
    }

    fn place(&mut self, value: u64) -> Slot {
        self.initial.push(value);
        Slot(self.initial.len() as u32 - 1)
    }
}
