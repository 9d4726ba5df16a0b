//! Saved states: eight bytes that say what they are, then little-endian numbers.

use thiserror::Error;

/// Why saved bytes are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StateError {
    /// The first bytes are not those of this kind of state.
    #[error("not a saved state of this kind and version")]
    Magic,
    /// The bytes end too soon.
    #[error("the saved state ends too soon")]
    Short,
    /// Bytes follow the end.
    #[error("{0} bytes follow the end of the saved state")]
    Long(usize),
    /// Another number of values than there is room for.
    #[error("{found} values where {expected} belong")]
    Length {
        /// Values there.
        found: u64,
        /// Values that belong there.
        expected: u64,
    },
    /// A number that no state can hold.
    #[error("the saved state holds a number that it cannot have")]
    Value,
}

/// Writes a state.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    /// With room for `words` words, lengths included, and `floats` values.
    pub(super) fn new(magic: [u8; 8], words: usize, floats: usize) -> Self {
        let mut bytes = Vec::with_capacity(magic.len() + 8 * words + 4 * floats);
        bytes.extend_from_slice(&magic);
        Self(bytes)
    }

    pub(super) fn word(&mut self, word: u64) {
        self.0.extend_from_slice(&word.to_le_bytes());
    }

    /// Their number, then the values.
    pub(super) fn floats(&mut self, values: &[f32]) {
        self.word(values.len() as u64);
        for value in values {
            self.0.extend_from_slice(&value.to_le_bytes());
        }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads a state.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], magic: [u8; 8]) -> Result<Self, StateError> {
        bytes.strip_prefix(&magic).map(Self).ok_or(StateError::Magic)
    }

    pub(super) fn word(&mut self) -> Result<u64, StateError> {
        let (&word, rest) = self.0.split_first_chunk::<8>().ok_or(StateError::Short)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(word))
    }

    /// Exactly `expected` finite values.
    pub(super) fn floats(&mut self, expected: usize) -> Result<Vec<f32>, StateError> {
        let found = self.word()?;
        if found != expected as u64 {
            return Err(StateError::Length { found, expected: expected as u64 });
        }
        let (bytes, rest) = self.0.split_at_checked(4 * expected).ok_or(StateError::Short)?;
        self.0 = rest;
        let values: Vec<f32> =
            bytes.as_chunks::<4>().0.iter().map(|&word| f32::from_le_bytes(word)).collect();
        if values.iter().all(|value| value.is_finite()) { Ok(values) } else { Err(StateError::Value) }
    }

    pub(super) fn finish(self) -> Result<(), StateError> {
        if self.0.is_empty() { Ok(()) } else { Err(StateError::Long(self.0.len())) }
    }
}
