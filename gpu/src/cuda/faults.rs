//! Rows that are not finite: kernels note them, and which one is reported follows from the notes.
//!
//! The processor stops at the first stage of a pass in which any row of a batch is refused, and names the first such row.
//! Kernels note for every row the first stage that refuses it; the smallest pair of stage and row is that same one.

use super::buffer::{Buffer, Room};
use super::device::Device;
use super::error::DeviceError;
use crate::error::Quantity;
use crate::kernels::{Address, NO_FAULT};
use crate::transformer::Fault;

/// Stages of a layer that can refuse a row.
const STAGES: u32 = 4;

/// A stage of the forward pass that can refuse a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The norm in front of attention.
    AttentionNorm(u32),
    /// The norms of queries and keys.
    QueryKey(u32),
    /// The sums of attention's weights.
    Attention(u32),
    /// The norm in front of the feed-forward layer.
    FeedForwardNorm(u32),
    /// The last norm.
    FinalNorm,
    /// The logits.
    Logits,
}

impl Stage {
    /// The number that kernels note; it ascends in the order of the pass.
    pub(super) fn code(self) -> u32 {
        match self {
            Self::AttentionNorm(layer) => layer * STAGES,
            Self::QueryKey(layer) => layer * STAGES + 1,
            Self::Attention(layer) => layer * STAGES + 2,
            Self::FeedForwardNorm(layer) => layer * STAGES + 3,
            Self::FinalNorm => NO_FAULT - 2,
            Self::Logits => NO_FAULT - 1,
        }
    }

    fn of(code: u32) -> Self {
        let layer = code / STAGES;
        match code {
            code if code == Self::FinalNorm.code() => Self::FinalNorm,
            code if code == Self::Logits.code() => Self::Logits,
            code => match code % STAGES {
                0 => Self::AttentionNorm(layer),
                1 => Self::QueryKey(layer),
                2 => Self::Attention(layer),
                _ => Self::FeedForwardNorm(layer),
            },
        }
    }

    /// What is not finite, and in which layer.
    fn quantity(self) -> (Quantity, Option<usize>) {
        match self {
            Self::AttentionNorm(layer) | Self::FeedForwardNorm(layer) => {
                (Quantity::Residual, Some(layer as usize))
            }
            Self::QueryKey(layer) => (Quantity::QueryKey, Some(layer as usize)),
            Self::Attention(layer) => (Quantity::Attention, Some(layer as usize)),
            Self::FinalNorm => (Quantity::Residual, None),
            Self::Logits => (Quantity::Logits, None),
        }
    }
}

/// The first fault among rows that the processor would have taken together; rows are counted from the first of `notes`.
pub(super) fn first(notes: &[u32]) -> Option<Fault> {
    let (row, &code) = notes.iter().enumerate().min_by_key(|&(row, &code)| (code, row))?;
    if code == NO_FAULT {
        return None;
    }
    let (quantity, layer) = Stage::of(code).quantity();
    Some(Fault { quantity, layer, row })
}

/// Where kernels note faults: a number a row, and one that says whether there is any.
pub(super) struct Notes {
    rows: Room<u32>,
    halt: Room<u32>,
}

/// Where a launch notes the faults of its rows.
#[derive(Clone, Copy)]
pub(super) struct NotesAt {
    /// The note of the first row.
    pub(super) rows: Address,
    /// Not 0 after any fault.
    pub(super) halt: Address,
}

impl NotesAt {
    /// The notes from this row on.
    pub(super) fn starting_at_row(self, row: usize) -> Self {
        Self { rows: self.rows.offset(row, size_of::<u32>()), ..self }
    }
}

impl Notes {
    pub(super) fn new() -> Self {
        Self { rows: Room::new("notes of faults"), halt: Room::new("the mark of a fault") }
    }

    /// Fresh notes for this many rows.
    pub(super) fn begin(&mut self, device: &Device, rows: usize) -> Result<NotesAt, DeviceError> {
        let noted = self.rows.at_least(device, rows)?;
        noted.write(device, &vec![NO_FAULT; rows])?;
        let rows = noted.address();
        let halt: &mut Buffer<u32> = self.halt.at_least(device, 1)?;
        halt.clear(device)?;
        Ok(NotesAt { rows, halt: halt.address() })
    }

    /// Whether anything was refused.
    pub(super) fn halted(&mut self, device: &Device) -> Result<bool, DeviceError> {
        let mut halt = [0];
        self.halt.at_least(device, 1)?.read(device, &mut halt)?;
        Ok(halt != [0])
    }

    /// The notes of the first rows.
    pub(super) fn read(&mut self, device: &Device, rows: usize) -> Result<Vec<u32>, DeviceError> {
        let mut notes = vec![NO_FAULT; rows];
        self.rows.at_least(device, rows)?.read(device, &mut notes)?;
        Ok(notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_stage_wins_and_in_it_the_earliest_row() {
        let code = |stage: Stage| stage.code();
        assert_eq!(first(&[NO_FAULT; 3]), None);
        let notes = [
            code(Stage::Logits),
            code(Stage::Attention(1)),
            code(Stage::QueryKey(1)),
            NO_FAULT,
            code(Stage::QueryKey(1)),
        ];
        let expected = Fault { quantity: Quantity::QueryKey, layer: Some(1), row: 2 };
        assert_eq!(first(&notes), Some(expected));
    }

    #[test]
    fn codes_ascend_in_the_order_of_the_pass_and_are_read_back() {
        let mut stages = Vec::new();
        for layer in 0..3 {
            stages.extend([
                Stage::AttentionNorm(layer),
                Stage::QueryKey(layer),
                Stage::Attention(layer),
                Stage::FeedForwardNorm(layer),
            ]);
        }
        stages.extend([Stage::FinalNorm, Stage::Logits]);
        assert!(stages.is_sorted_by(|a, b| a.code() < b.code()));
        assert!(stages.iter().all(|&stage| Stage::of(stage.code()) == stage && stage.code() < NO_FAULT));
    }
}
