//! The batch of an optimiser step, cut into micro-batches and laid out for kernels, so that it is copied to the device
//! once.

mod columns;
mod upload;

use std::ops::Range;

use crate::backend::{TrainBatch, TrainSequence};
use crate::shape::ModelShape;
use crate::transformer::{BLOCK, target_rows};
use columns::{Columns, by_token};

pub(super) use upload::{PartAt, PlanRoom};

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
            let (sequences, behind) = rest.split_at(micro_batch(rest));
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
}

/// How many of these sequences the next micro-batch takes.
fn micro_batch(sequences: &[TrainSequence]) -> usize {
    let mut tokens = 0;
    for (count, sequence) in sequences.iter().enumerate() {
        tokens += sequence.sequence.tokens.len();
        if tokens > MICRO_TOKENS {
            return count.max(1);
        }
    }
    sequences.len()
}

fn zeros() -> impl Iterator<Item = f32> {
    std::iter::repeat(0.0)
}
