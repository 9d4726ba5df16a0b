//! A planned batch on the device.

use super::{Part, Plan};
use crate::cuda::batch::RowsAt;
use crate::cuda::buffer::{Buffer, Room};
use crate::cuda::device::Device;
use crate::cuda::error::DeviceError;
use crate::kernels::Address;

/// A micro-batch on the device.
pub(crate) struct PartAt {
    pub(crate) rows: RowsAt,
    pub(crate) targets: u32,
    pub(crate) sequences: u32,
    /// u32 `[rows]`: the row behind each row's sequence.
    pub(crate) ends: Address,
    /// u32 `[sequences + 1]`: first rows.
    pub(crate) starts: Address,
    /// u32 `[targets]`: the row that gives a target's logits.
    pub(crate) target_rows: Address,
    /// u32 `[targets]`: the target's token.
    pub(crate) target_tokens: Address,
    /// u32 `[sequences + 1]`: first targets.
    pub(crate) target_starts: Address,
    /// u32 `[rows]`: the target whose logits a row gives.
    pub(crate) row_targets: Address,
    /// Starts and order of the rows by token, for the embedding and each look-up table.
    pub(crate) lookups: Vec<(Address, Address)>,
    /// f32 `[targets]` each.
    pub(crate) rollout_log_probs: Address,
    pub(crate) advantages: Address,
    pub(crate) weights: Address,
}

/// Memory for a batch on the device.
pub(crate) struct PlanRoom {
    words: Room<u32>,
    reals: Room<f32>,
}

impl PlanRoom {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self { words: Room::new("the batch"), reals: Room::new("the batch") }
    }
}

/// A batch on the device.
pub(crate) struct Uploaded<'a> {
    words: &'a Buffer<u32>,
    reals: &'a Buffer<f32>,
    targets: usize,
}

impl Uploaded<'_> {
    /// Where a micro-batch is.
    pub(crate) fn part(&self, part: &Part) -> PartAt {
        let word = |place| self.words.place(place);
        let column = |index| self.reals.place(index * self.targets + part.targets.start);
        PartAt {
            rows: RowsAt {
                count: part.rows.len() as u32,
                longest: part.longest,
                inputs: word(part.inputs),
                positions: word(part.positions),
                slots: word(part.slots),
                tables: word(part.tables),
                table_stride: part.table_stride,
            },
            targets: part.targets.len() as u32,
            sequences: part.sequences as u32,
            ends: word(part.ends),
            starts: word(part.starts),
            target_rows: word(part.target_rows),
            target_tokens: word(part.target_tokens),
            target_starts: word(part.target_starts),
            row_targets: word(part.row_targets),
            lookups: part.lookups.iter().map(|of| (word(of.starts), word(of.order))).collect(),
            rollout_log_probs: column(0),
            advantages: column(1),
            weights: column(2),
        }
    }
}

impl Plan {
    /// Copies the batch to the device.
    pub(crate) fn upload<'a>(
        &self,
        device: &Device,
        room: &'a mut PlanRoom,
    ) -> Result<Uploaded<'a>, DeviceError> {
        let words = room.words.at_least(device, self.words.len())?;
        words.write(device, &self.words)?;
        let columns = [&self.rollout_log_probs, &self.advantages, &self.weights];
        let all: Vec<f32> = columns.into_iter().flatten().copied().collect();
        let reals = room.reals.at_least(device, all.len())?;
        reals.write(device, &all)?;
        Ok(Uploaded { words, reals, targets: self.targets })
    }
}
