//! Weights on the device, ready to decode and score.

use std::ops::Range;
use std::sync::Arc;

use super::batch::Rows;
use super::buffer::{Buffer, Room};
use super::cache::PagedCache;
use super::decoder::CudaDecoder;
use super::error::DeviceError;
use super::faults::{self, Notes, NotesAt, Stage};
use super::forward::{Forward, Head, HeadRoom};
use super::layer::LayerRoom;
use super::model::DeviceModel;
use crate::backend::check::{DECODE_ROWS, SCORE_ROWS, check_sequence, check_temperature, fault_at};
use crate::backend::{Decoder, Policy, Scores, Sequence};
use crate::error::ArithmeticError;
use crate::kernels::{LogSoftmax, TakeRows};
use crate::shape::ModelShape;
use crate::transformer::{Fault, Input, Span, inputs, target_rows};

/// Tokens of the sequences that are scored together, more or less.
const ROWS: usize = 8192;
/// Rows of logits that are computed together.
const LOGIT_ROWS: usize = 2048;

/// A model that decoders share.
pub(super) struct CudaPolicy {
    pub(super) model: Arc<DeviceModel>,
}

impl Policy for CudaPolicy {
    fn shape(&self) -> &ModelShape {
        &self.model.shape
    }

    fn decoder(&self, slots: usize) -> Box<dyn Decoder> {
        Box::new(CudaDecoder::new(Arc::clone(&self.model), slots))
    }

    fn score(&self, sequences: &[Sequence], temperature: f32) -> Result<Vec<Scores>, ArithmeticError> {
        check_temperature(temperature, true)?;
        for (index, sequence) in sequences.iter().enumerate() {
            check_sequence(self.shape(), index, sequence)?;
        }
        let mut scorer = Scorer::new(&self.model, temperature);
        let mut scores = Vec::with_capacity(sequences.len());
        while scores.len() < sequences.len() {
            let first = scores.len();
            let group = &sequences[first..first + group_len(&sequences[first..])];
            match scorer.score(group)? {
                Ok(part) => scores.extend(part),
                Err((index, fault)) => return Err(fault_at(fault, first + index)),
            }
        }
        Ok(scores)
    }
}

/// How many of these sequences are scored together; at least one.
fn group_len(sequences: &[Sequence]) -> usize {
    let mut tokens = 0;
    let fits = sequences.iter().take_while(|sequence| {
        tokens += sequence.tokens.len();
        tokens <= ROWS
    });
    fits.count().max(1)
}

/// What a call of [`Policy::score`] works with.
struct Scorer<'a> {
    model: &'a DeviceModel,
    temperature: f32,
    rows: Room<u32>,
    x: Room<f32>,
    layer: LayerRoom,
    head: HeadRoom,
    notes: Notes,
    index: Room<u32>,
    found: [Room<f32>; 3],
}

/// The targets of a group: the row that gives each one's logits, and its token.
#[derive(Default)]
struct Targets {
    rows: Vec<u32>,
    tokens: Vec<u32>,
}

impl<'a> Scorer<'a> {
    fn new(model: &'a DeviceModel, temperature: f32) -> Self {
        Self {
            model,
            temperature,
            rows: Room::new("rows"),
            x: Room::new("the residual stream"),
            layer: LayerRoom::new(),
            head: HeadRoom::new(),
            notes: Notes::new(),
            index: Room::new("targets"),
            found: ["log-probabilities", "entropies", "sums of weights"].map(Room::new),
        }
    }

    /// The scores of a group; or the first sequence with a fault, and the fault.
    fn score(&mut self, group: &[Sequence]) -> Result<Result<Vec<Scores>, (usize, Fault)>, DeviceError> {
        let device = &self.model.device;
        let mut targets = Targets::default();
        let mut row = 0;
        for sequence in group {
            for target in target_rows(&sequence.targets) {
                targets.rows.push((row + target) as u32);
                targets.tokens.push(sequence.tokens[target + 1]);
            }
            row += sequence.tokens.len();
        }
        let count = targets.rows.len();
        let notes = self.notes.begin(device, row + count)?;
        self.layers(group, notes)?;
        for first in (0..count).step_by(LOGIT_ROWS) {
            let part = first..count.min(first + LOGIT_ROWS);
            self.logits(&targets, part, count, notes.starting_at_row(row + first))?;
        }
        if self.notes.halted(device)? {
            let notes = self.notes.read(device, row + count)?;
            return Ok(Err(refused(group, &notes, row).ok_or(DeviceError::Unexplained)?));
        }
        let mut log_probs = vec![0.0; count];
        let mut entropies = vec![0.0; count];
        self.found[0].at_least(device, count)?.read(device, &mut log_probs)?;
        self.found[1].at_least(device, count)?.read(device, &mut entropies)?;
        let mut values = log_probs.into_iter().zip(entropies);
        let of = |sequence: &Sequence| {
            let (log_probs, entropies) = values.by_ref().take(sequence.target_count()).unzip();
            Scores { log_probs, entropies }
        };
        Ok(Ok(group.iter().map(of).collect()))
    }

    /// Prefills all sequences of a group.
    fn layers(&mut self, group: &[Sequence], notes: NotesAt) -> Result<(), DeviceError> {
        let (model, device, sizes) = (self.model, &self.model.device, &self.model.sizes);
        let mut cache = PagedCache::new(model, group.len());
        let mut all: Vec<Input> = Vec::new();
        let mut spans = Vec::new();
        for (slot, Sequence { tokens, .. }) in group.iter().enumerate() {
            cache.pages.reserve(slot, tokens.len());
            spans.push(Span { slot, first: all.len(), rows: tokens.len(), start: 0 });
            all.extend(inputs([None; 2], tokens));
        }
        let rows = Rows::of(&all, &spans, &cache.pages).upload(device, &mut self.rows)?;
        let at = self.layer.at(device, sizes, rows.count)?;
        let x = self.x.address(device, all.len() * sizes.width as usize)?;
        let forward = Forward { model, rows, cache: cache.at(model)?, notes };
        forward.embed(x)?;
        for layer in 0..sizes.layers {
            forward.layer(layer, x, &at)?;
        }
        Ok(())
    }

    /// Log-probabilities and entropies of a part of all `count` targets.
    fn logits(
        &mut self,
        targets: &Targets,
        part: Range<usize>,
        count: usize,
        notes: NotesAt,
    ) -> Result<(), DeviceError> {
        let (model, device, sizes) = (self.model, &self.model.device, &self.model.sizes);
        let rows = part.len() as u32;
        let index = self.index.at_least(device, 2 * LOGIT_ROWS)?;
        let both: Vec<u32> =
            targets.rows[part.clone()].iter().chain(&targets.tokens[part.clone()]).copied().collect();
        index.write(device, &both)?;
        let at = self.head.at(device, sizes, part.len())?;
        let x = self.x.address(device, 1)?;
        device.launch(&TakeRows { from: x, index: index.address(), rows, width: sizes.width, out: at.x })?;
        Head { model, rows, at, notes }.run()?;
        let [log_probs, entropies, sums] = &mut self.found;
        let place = |room: &mut Room<f32>| {
            room.at_least(device, count).map(|found: &mut Buffer<f32>| found.place(part.start))
        };
        device.launch(&LogSoftmax {
            logits: at.logits,
            vocab: sizes.vocab,
            rows,
            tokens: index.place(part.len()),
            temperature: self.temperature,
            log_probs: place(log_probs)?,
            entropies: place(entropies)?,
            sums: place(sums)?,
            faults: notes.rows,
            halt: notes.halt,
            code: Stage::Logits.code(),
        })
    }
}

/// The first sequence that has a fault, and the one that the processor would name: it takes a sequence's rows in
/// stretches, and then its targets in stretches.
fn refused(group: &[Sequence], notes: &[u32], rows: usize) -> Option<(usize, Fault)> {
    let (mut of_rows, mut of_targets) = notes.split_at(rows);
    for (index, sequence) in group.iter().enumerate() {
        let (own, behind) = of_rows.split_at(sequence.tokens.len());
        let (head, behind_head) = of_targets.split_at(sequence.target_count());
        (of_rows, of_targets) = (behind, behind_head);
        if let Some(fault) = in_stretches(own, DECODE_ROWS) {
            return Some((index, fault));
        }
        if let Some(fault) = in_stretches(head, SCORE_ROWS) {
            let row = target_rows(&sequence.targets).nth(fault.row).unwrap_or(0);
            return Some((index, Fault { row, ..fault }));
        }
    }
    None
}

/// The first fault of the first stretch that has any.
fn in_stretches(notes: &[u32], stretch: usize) -> Option<Fault> {
    notes.chunks(stretch).enumerate().find_map(|(index, notes)| {
        let fault = faults::first(notes)?;
        Some(Fault { row: index * stretch + fault.row, ..fault })
    })
}
