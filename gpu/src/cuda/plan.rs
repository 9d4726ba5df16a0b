//! The batch of an optimiser step, cut into micro-batches and laid out for kernels, so that it is copied to the device
//! once.

use std::ops::Range;

use super::batch::RowsAt;
use super::buffer::{Buffer, Room};
use super::device::Device;
use super::error::DeviceError;
use crate::backend::check::micro_batch;
use crate::backend::{TrainBatch, TrainSequence};
use crate::kernels::{Address, NO_TOKEN};
use crate::shape::ModelShape;
use crate::transformer::{BLOCK, inputs, target_rows};

/// Tokens of a micro-batch, more or less.
const MICRO_TOKENS: usize = 8192;

/// A batch as the processor lays it out.
pub(super) struct Plan {
    pub(super) parts: Vec<Part>,
    /// Rows and targets of all micro-batches.
    pub(super) rows: usize,
    pub(super) targets: usize,
    words: Vec<u32>,
    /// One number a target each.
    rollout_log_probs: Vec<f32>,
    advantages: Vec<f32>,
    weights: Vec<f32>,
}

/// A micro-batch: sequences one after the other. Places count from the start of all words, rows and targets of the
/// micro-batch from 0.
pub(super) struct Part {
    pub(super) sequences: usize,
    /// Among the rows and the targets of the whole batch.
    pub(super) rows: Range<usize>,
    pub(super) targets: Range<usize>,
    /// Pages that the rows' keys and values need.
    pub(super) pages: usize,
    longest: u32,
    table_stride: u32,
    inputs: usize,
    positions: usize,
    slots: usize,
    tables: usize,
    ends: usize,
    starts: usize,
    target_rows: usize,
    target_tokens: usize,
    target_starts: usize,
    row_targets: usize,
    lookups: Vec<LookupPlan>,
}

/// Rows by the token that they look up in one of the tables.
struct LookupPlan {
    starts: usize,
    order: usize,
}

/// A micro-batch on the device.
pub(super) struct PartAt {
    pub(super) rows: RowsAt,
    pub(super) targets: u32,
    pub(super) sequences: u32,
    /// u32 `[rows]`: the row behind each row's sequence.
    pub(super) ends: Address,
    /// u32 `[sequences + 1]`: first rows.
    pub(super) starts: Address,
    /// u32 `[targets]`: the row that gives a target's logits.
    pub(super) target_rows: Address,
    /// u32 `[targets]`: the target's token.
    pub(super) target_tokens: Address,
    /// u32 `[sequences + 1]`: first targets.
    pub(super) target_starts: Address,
    /// u32 `[rows]`: the target whose logits a row gives.
    pub(super) row_targets: Address,
    /// Starts and order of the rows by token, for the embedding and each look-up table.
    pub(super) lookups: Vec<(Address, Address)>,
    /// f32 `[targets]` each.
    pub(super) rollout_log_probs: Address,
    pub(super) advantages: Address,
    pub(super) weights: Address,
}

impl Plan {
    /// Lays out a batch that has been checked.
    pub(super) fn of(shape: &ModelShape, batch: &TrainBatch) -> Self {
        let mut plan = Self {
            parts: Vec::new(),
            rows: 0,
            targets: 0,
            words: Vec::new(),
            rollout_log_probs: Vec::new(),
            advantages: Vec::new(),
            weights: Vec::new(),
        };
        let mut rest = batch.sequences.as_slice();
        while !rest.is_empty() {
            let (sequences, behind) = rest.split_at(micro_batch(rest, MICRO_TOKENS));
            rest = behind;
            let part = plan.part(shape, sequences);
            plan.parts.push(part);
        }
        for TrainSequence { sequence, advantages, rollout_log_probs, weight } in &batch.sequences {
            let count = sequence.target_count();
            // For cross entropy these two columns are empty and not read.
            plan.rollout_log_probs.extend(rollout_log_probs.iter().copied().chain(zeros()).take(count));
            plan.advantages.extend(advantages.iter().copied().chain(zeros()).take(count));
            plan.weights.extend(std::iter::repeat_n(*weight, count));
        }
        plan
    }

    fn part(&mut self, shape: &ModelShape, sequences: &[TrainSequence]) -> Part {
        let mut columns = Columns::default();
        let table_stride =
            sequences.iter().map(|of| of.sequence.tokens.len().div_ceil(BLOCK)).max().unwrap_or(0);
        for (slot, TrainSequence { sequence, .. }) in sequences.iter().enumerate() {
            columns.sequence(slot as u32, &sequence.tokens, table_stride);
            columns.targets(&sequence.tokens, target_rows(&sequence.targets));
        }
        columns.starts.push(columns.positions.len() as u32);
        columns.target_starts.push(columns.target_rows.len() as u32);
        let (rows, targets) = (columns.positions.len(), columns.target_rows.len());
        let lookups = (0..=shape.ngram as usize)
            .map(|distance| {
                let (starts, order) = by_token(&columns.inputs, distance, shape.vocab as usize);
                LookupPlan { starts: self.put(&starts), order: self.put(&order) }
            })
            .collect();
        let part = Part {
            sequences: sequences.len(),
            rows: self.rows..self.rows + rows,
            targets: self.targets..self.targets + targets,
            pages: columns.pages as usize,
            longest: columns.longest,
            table_stride: table_stride as u32,
            inputs: self.put(&columns.inputs),
            positions: self.put(&columns.positions),
            slots: self.put(&columns.slots),
            tables: self.put(&columns.tables),
            ends: self.put(&columns.ends),
            starts: self.put(&columns.starts),
            target_rows: self.put(&columns.target_rows),
            target_tokens: self.put(&columns.target_tokens),
            target_starts: self.put(&columns.target_starts),
            row_targets: self.put(&columns.row_targets),
            lookups,
        };
        self.rows += rows;
        self.targets += targets;
        part
    }

    /// Where these words come to lie.
    fn put(&mut self, words: &[u32]) -> usize {
        let place = self.words.len();
        self.words.extend_from_slice(words);
        place
    }

    /// Copies the batch to the device.
    pub(super) fn upload<'a>(
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

fn zeros() -> impl Iterator<Item = f32> {
    std::iter::repeat(0.0)
}

/// The columns of a micro-batch.
#[derive(Default)]
struct Columns {
    inputs: Vec<u32>,
    positions: Vec<u32>,
    slots: Vec<u32>,
    tables: Vec<u32>,
    ends: Vec<u32>,
    starts: Vec<u32>,
    target_rows: Vec<u32>,
    target_tokens: Vec<u32>,
    target_starts: Vec<u32>,
    row_targets: Vec<u32>,
    pages: u32,
    longest: u32,
}

impl Columns {
    fn sequence(&mut self, slot: u32, tokens: &[u32], table_stride: usize) {
        let first = self.positions.len();
        let len = tokens.len();
        self.starts.push(first as u32);
        for input in inputs([None; 2], tokens) {
            self.inputs.push(input.token);
            self.inputs.extend(input.previous.map(|token| token.unwrap_or(NO_TOKEN)));
        }
        self.positions.extend(0..len as u32);
        self.slots.extend(std::iter::repeat_n(slot, len));
        self.ends.extend(std::iter::repeat_n((first + len) as u32, len));
        self.row_targets.extend(std::iter::repeat_n(NO_TOKEN, len));
        let pages = len.div_ceil(BLOCK);
        self.tables.extend(self.pages..self.pages + pages as u32);
        self.tables.extend(std::iter::repeat_n(NO_TOKEN, table_stride - pages));
        self.pages += pages as u32;
        self.longest = self.longest.max(len as u32);
    }

    /// The targets of the sequence that was put last.
    fn targets(&mut self, tokens: &[u32], rows: impl Iterator<Item = usize>) {
        let first = self.positions.len() - tokens.len();
        self.target_starts.push(self.target_rows.len() as u32);
        for row in rows {
            self.row_targets[first + row] = self.target_rows.len() as u32;
            self.target_rows.push((first + row) as u32);
            self.target_tokens.push(tokens[row + 1]);
        }
    }
}

/// Rows sorted by the token `distance` back, rows of one token ascending: where each token's rows start, and the rows.
fn by_token(inputs: &[u32], distance: usize, vocab: usize) -> (Vec<u32>, Vec<u32>) {
    let tokens = || inputs.iter().skip(distance).step_by(3).map(|&token| token as usize);
    let mut starts = vec![0_u32; vocab + 1];
    for token in tokens().filter(|&token| token < vocab) {
        starts[token + 1] += 1;
    }
    for token in 0..vocab {
        starts[token + 1] += starts[token];
    }
    let mut next = starts.clone();
    let mut order = vec![0; starts[vocab] as usize];
    for (row, token) in tokens().enumerate().filter(|&(_, token)| token < vocab) {
        order[next[token] as usize] = row as u32;
        next[token] += 1;
    }
    (starts, order)
}

/// Memory for a batch on the device.
pub(super) struct PlanRoom {
    words: Room<u32>,
    reals: Room<f32>,
}

impl PlanRoom {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self { words: Room::new("the batch"), reals: Room::new("the batch") }
    }
}

/// A batch on the device.
pub(super) struct Uploaded<'a> {
    words: &'a Buffer<u32>,
    reals: &'a Buffer<f32>,
    targets: usize,
}

impl Uploaded<'_> {
    /// Where a micro-batch is.
    pub(super) fn part(&self, part: &Part) -> PartAt {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_token_stay_in_order_and_absent_tokens_have_none() {
        let none = NO_TOKEN;
        let inputs = [2, none, none, 0, 2, none, 2, 0, 2, 2, 2, 0];
        assert_eq!(by_token(&inputs, 0, 4), (vec![0, 1, 1, 4, 4], vec![1, 0, 2, 3]));
        assert_eq!(by_token(&inputs, 1, 4), (vec![0, 1, 1, 3, 3], vec![2, 1, 3]));
        assert_eq!(by_token(&inputs, 2, 4), (vec![0, 1, 1, 2, 2], vec![3, 2]));
    }
}
