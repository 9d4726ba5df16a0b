//! Memory of a device: pieces that lie so far apart that a stray access meets none.

use thiserror::Error;

use super::types::Width;

/// Bits of an address within a piece.
const OFFSET_BITS: u32 = 36;
/// What every byte holds that nobody has written: a NaN of any width.
const POISON: u8 = 0xff;
/// What a driver promises of the memory that it gives out.
const GLOBAL_ALIGNMENT: u64 = 256;

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Access {
    /// No piece of memory has all of the bytes.
    #[error("an access outside of memory")]
    Outside,
    /// The address is no multiple of what is moved.
    #[error("a misaligned access")]
    Misaligned,
}

/// Pieces of memory, each poisoned until it is written, and none better aligned than is promised.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Where the first piece's addresses begin.
    base: u64,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
struct Piece {
    /// The first byte's distance from where the piece's addresses begin: its alignment.
    start: u64,
    bytes: Vec<u8>,
}

impl Memory {
    /// Global memory, empty.
    pub fn global() -> Self {
        Self { base: 0x7000_0000_0000, pieces: Vec::new() }
    }

    /// Shared memory, empty; its addresses are no addresses of global memory.
    pub(super) fn shared() -> Self {
        Self { base: 0x1000_0000_0000, pieces: Vec::new() }
    }

    /// A new piece of global memory, and where it begins.
    pub fn allocate(&mut self, bytes: usize) -> u64 {
        self.place(bytes, GLOBAL_ALIGNMENT)
    }

    /// A new piece, and where it begins: at a multiple of a power of two, but not of the next one.
    pub(super) fn place(&mut self, bytes: usize, alignment: u64) -> u64 {
        let number = self.pieces.len() as u64;
        self.pieces.push(Piece { start: alignment, bytes: vec![POISON; bytes] });
        self.base + (number << OFFSET_BITS) + alignment
    }

    /// Gives the piece that begins at an address another size.
    pub(super) fn resize(&mut self, address: u64, bytes: usize) {
        if let Some((index, 0)) = self.find(address) {
            self.pieces[index].bytes.resize(bytes, POISON);
        }
    }

    /// Forgets what is in all pieces.
    pub(super) fn poison(&mut self) {
        self.pieces.iter_mut().for_each(|piece| piece.bytes.fill(POISON));
    }

    /// Everything in the piece that begins at an address.
    pub fn piece(&self, address: u64) -> Option<&[u8]> {
        let (index, offset) = self.find(address)?;
        self.pieces.get(index).filter(|_| offset == 0).map(|piece| piece.bytes.as_slice())
    }

    /// The same, to be written.
    pub fn piece_mut(&mut self, address: u64) -> Option<&mut [u8]> {
        let (index, offset) = self.find(address)?;
        self.pieces.get_mut(index).filter(|_| offset == 0).map(|piece| piece.bytes.as_mut_slice())
    }

    /// One number, in the low bits.
    pub(super) fn load(&self, address: u64, width: Width) -> Result<u64, Access> {
        let (index, offset) = self.find(address).ok_or(Access::Outside)?;
        let bytes = self.pieces[index].bytes.get(offset..offset + width.bytes()).ok_or(Access::Outside)?;
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        Ok(u64::from_le_bytes(word))
    }

    /// Writes the low bits of a value.
    pub(super) fn store(&mut self, address: u64, width: Width, value: u64) -> Result<(), Access> {
        let (index, offset) = self.find(address).ok_or(Access::Outside)?;
        let piece = &mut self.pieces[index].bytes;
        let bytes = piece.get_mut(offset..offset + width.bytes()).ok_or(Access::Outside)?;
        bytes.copy_from_slice(&value.to_le_bytes()[..width.bytes()]);
        Ok(())
    }

    /// Number of the piece that an address belongs to, and the distance from its first byte.
    fn find(&self, address: u64) -> Option<(usize, usize)> {
        let distance = address.checked_sub(self.base)?;
        let index = (distance >> OFFSET_BITS) as usize;
        let offset = distance & ((1 << OFFSET_BITS) - 1);
        Some((index, offset.checked_sub(self.pieces.get(index)?.start)? as usize))
    }
}

/// Refuses an address that is no multiple of the bytes that are moved.
pub(super) fn aligned(address: u64, bytes: usize) -> Result<(), Access> {
    if address.is_multiple_of(bytes as u64) { Ok(()) } else { Err(Access::Misaligned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_ends_at_its_last_byte_and_begins_at_its_first() {
        let mut memory = Memory::global();
        let [first, second] = [memory.allocate(8), memory.allocate(6)];
        memory.store(first + 4, Width::Four, 7).unwrap();
        assert_eq!(memory.load(first, Width::Eight), Ok(0x7_ffff_ffff));
        let stray = [first - 4, first + 8, first + 5, second - 4, second + 4, 0, u64::MAX];
        for address in stray {
            assert_eq!(memory.load(address, Width::Four), Err(Access::Outside), "{address:#x}");
            assert_eq!(memory.store(address, Width::Four, 0), Err(Access::Outside), "{address:#x}");
        }
        assert_eq!(memory.piece(second), Some([0xff; 6].as_slice()));
        assert_eq!(memory.piece(second + 1), None);
    }

    #[test]
    fn a_piece_is_aligned_as_promised_and_no_better() {
        let mut memory = Memory::shared();
        for alignment in [1, 4, 16] {
            let address = memory.place(64, alignment);
            assert_eq!(address % (2 * alignment), alignment);
        }
    }
}
