//! The running mean of the values after each update, from a given update on.

use super::bytes::{Reader, StateError, Writer};

/// First bytes of a saved state; the last is the version of the layout.
const MAGIC: [u8; 8] = *b"TADAVG\0\x01";

/// A running mean of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Average {
    /// The first update, counted from 1, whose values enter the mean.
    start: u64,
    seen: u64,
    count: u64,
    mean: Vec<f32>,
}

impl Average {
    /// A mean over `len` values after each update from `start` on, counted from 1.
    pub fn new(start: u64, len: usize) -> Self {
        Self { start, seen: 0, count: 0, mean: vec![0.0; len] }
    }

    /// Takes in the values after an update: `mean += (value - mean) / count`.
    pub fn observe(&mut self, values: &[f32]) -> Result<(), StateError> {
        if values.len() != self.mean.len() {
            return Err(StateError::Length { found: values.len() as u64, expected: self.mean.len() as u64 });
        }
        self.seen += 1;
        if self.seen < self.start {
            return Ok(());
        }
        self.count += 1;
        let count = self.count as f32;
        for (mean, value) in self.mean.iter_mut().zip(values) {
            *mean += (value - *mean) / count;
        }
        Ok(())
    }

    /// Elsewhere than here: how many updates are in the mean once the next one is over; `None` where it does not enter.
    pub(crate) fn next_count(&self) -> Option<u64> {
        (self.seen + 1 >= self.start).then_some(self.count + 1)
    }

    /// Says that an update was taken in elsewhere.
    pub(crate) fn count_update(&mut self) {
        self.count = self.next_count().unwrap_or(self.count);
        self.seen += 1;
    }

    /// The values, as they are from the first update on that enters the mean.
    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        &mut self.mean
    }

    /// The mean; `None` before the first update that enters it.
    pub fn mean(&self) -> Option<&[f32]> {
        (self.count > 0).then_some(self.mean.as_slice())
    }

    /// How many updates entered the mean.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Starts again.
    pub fn reset(&mut self) {
        *self = Self::new(self.start, self.mean.len());
    }

    /// The state as canonical bytes, all numbers little-endian: `TADAVG\0` and the layout's version, 1 (8 bytes); updates
    /// seen, updates in the mean, number of values (u64 each); the values (f32 each).
    pub fn state_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(MAGIC, 3, self.mean.len());
        writer.word(self.seen);
        writer.word(self.count);
        writer.floats(&self.mean);
        writer.finish()
    }

    /// Takes up a state that [`Average::state_bytes`] wrote for as many values. After an error the mean is as it was.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let mut reader = Reader::new(bytes, MAGIC)?;
        let (seen, count) = (reader.word()?, reader.word()?);
        let mean = reader.floats(self.mean.len())?;
        reader.finish()?;
        if count > seen {
            return Err(StateError::Value);
        }
        (self.seen, self.count, self.mean) = (seen, count, mean);
        Ok(())
    }
}
