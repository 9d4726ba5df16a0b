//! Rows of any sequences, laid out for kernels.

use super::buffer::Room;
use super::device::Device;
use super::error::DeviceError;
use crate::kernels::{Address, NO_TOKEN};
use crate::transformer::{Input, Pages, Span};

/// Rows as they are put together on the processor.
#[derive(Debug, Default)]
pub(super) struct Rows {
    inputs: Vec<u32>,
    positions: Vec<u32>,
    slots: Vec<u32>,
    tables: Vec<u32>,
    table_stride: usize,
    longest: u32,
}

/// Rows on the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowsAt {
    pub(super) count: u32,
    /// The largest position of a row, plus 1.
    pub(super) longest: u32,
    /// `[rows, 3]`: a token and the two before it.
    pub(super) inputs: Address,
    pub(super) positions: Address,
    pub(super) slots: Address,
    pub(super) tables: Address,
    pub(super) table_stride: u32,
}

impl Rows {
    /// The rows of spans; their pages are reserved, and `inputs` has one entry a row.
    pub(super) fn of(inputs: &[Input], spans: &[Span], pages: &Pages) -> Self {
        let mut rows = Self::default();
        for input in inputs {
            rows.inputs.push(input.token);
            rows.inputs.extend(input.previous.map(|token| token.unwrap_or(NO_TOKEN)));
        }
        rows.table_stride = spans.iter().map(|span| pages.of(span.slot).len()).max().unwrap_or(0);
        for (place, span) in spans.iter().enumerate() {
            for position in span.start..span.start + span.rows {
                rows.positions.push(position as u32);
                // A table a span, not a slot: most slots of a decoder are not in most batches.
                rows.slots.push(place as u32);
                rows.longest = rows.longest.max(position as u32 + 1);
            }
            let table = pages.of(span.slot);
            rows.tables.extend(table.iter().map(|&page| page as u32));
            rows.tables.extend(std::iter::repeat_n(NO_TOKEN, rows.table_stride - table.len()));
        }
        rows
    }

    /// Copies the rows to the device, in one piece.
    pub(super) fn upload(&self, device: &Device, room: &mut Room<u32>) -> Result<RowsAt, DeviceError> {
        let parts = [&self.inputs, &self.positions, &self.slots, &self.tables];
        let all: Vec<u32> = parts.into_iter().flatten().copied().collect();
        let buffer = room.at_least(device, all.len())?;
        buffer.write(device, &all)?;
        let rows = self.positions.len();
        Ok(RowsAt {
            count: rows as u32,
            longest: self.longest,
            inputs: buffer.address(),
            positions: buffer.place(3 * rows),
            slots: buffer.place(4 * rows),
            tables: buffer.place(5 * rows),
            table_stride: self.table_stride as u32,
        })
    }
}
