//! Modules, kernels and their launches.

use std::collections::BTreeMap;

use super::block::{Block, Site};
use super::decode::{Code, decode};
use super::error::{ParseError, Reason, ReplayError};
use super::memory::Memory;
use super::order::Turns;
use super::parse::parse;
use super::shuffle::LANES;
use crate::{Call, Order};

/// Dynamic shared memory of a block on the smallest device meant (`sm_80`), in bytes.
const LARGEST_SHARED: u32 = 163 * 1024;
const LARGEST_BLOCK: u32 = 1024;

/// Kernels that can be replayed.
#[derive(Clone, Debug)]
pub struct Module {
    kernels: BTreeMap<String, Kernel>,
}

#[derive(Clone, Debug)]
struct Kernel {
    code: Code,
    largest_block: Option<[u32; 3]>,
}

impl Module {
    /// Reads PTX; all of it, before anything is executed.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let syntax = parse(text)?;
        let mut kernels = BTreeMap::new();
        for entry in &syntax.entries {
            let code = decode(entry, &syntax.dynamic)?;
            let kernel = Kernel { code, largest_block: entry.largest_block };
            if kernels.insert(entry.name.to_owned(), kernel).is_some() {
                let reason = Reason::Redeclared(entry.name.to_owned());
                return Err(ParseError { line: entry.line, reason });
            }
        }
        Ok(Self { kernels })
    }

    /// The kernels' names.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str)
    }

    /// Executes a kernel to its end. After an error its results have no meaning.
    pub fn launch(&self, call: &Call<'_>, order: Order, global: &mut Memory) -> Result<(), ReplayError> {
        let refused =
            |reason: &str| ReplayError::Launch { kernel: call.name.to_owned(), reason: reason.to_owned() };
        let kernel = self.kernels.get(call.name).ok_or_else(|| refused("there is no kernel of this name"))?;
        kernel.takes(call).map_err(|reason| refused(&reason))?;
        let mut shared = kernel.code.shared.clone();
        for &address in &kernel.code.dynamic {
            shared.resize(address, call.shared_bytes as usize);
        }
        let site = Site {
            kernel: call.name,
            code: &kernel.code,
            values: &kernel.code.frame.with(call.arguments),
            grid_size: call.grid,
            block_size: call.block,
        };
        let [width, height, depth] = call.grid.map(|side| side as usize);
        let mut turns = Turns::new(order);
        for number in turns.below(width * height * depth) {
            let place = [number % width, number / width % height, number / (width * height)];
            shared.poison();
            Block::new(&site, place.map(|side| side as u32)).run(&mut turns, global, &mut shared)?;
        }
        Ok(())
    }
}

impl Kernel {
    /// Whether a device would take a launch; if not, why.
    fn takes(&self, call: &Call<'_>) -> Result<(), String> {
        let (given, wanted) = (call.arguments.len(), self.code.frame.parameters());
        if given != wanted {
            return Err(format!("{given} arguments for {wanted} parameters"));
        }
        if call.grid.contains(&0) {
            return Err("the grid is empty".to_owned());
        }
        let threads = call.block.iter().fold(1_u32, |count, &side| count.saturating_mul(side));
        if threads == 0 || LARGEST_BLOCK < threads || threads % LANES as u32 != 0 {
            return Err(format!("a block of {threads} threads is not a multiple of 32 up to 1,024"));
        }
        let largest = self.largest_block.unwrap_or([LARGEST_BLOCK; 3]);
        if call.block.iter().zip(largest).any(|(&side, most)| most < side) {
            return Err(format!("a block of {:?} where {largest:?} is the largest", call.block));
        }
        if LARGEST_SHARED < call.shared_bytes {
            return Err("more dynamic shared memory than a device has".to_owned());
        }
        Ok(())
    }
}
