//! Sequences that grow, on the device.

use std::sync::Arc;

use super::batch::Rows;
use super::buffer::Room;
use super::cache::PagedCache;
use super::error::DeviceError;
use super::faults::{self, Notes, NotesAt};
use super::forward::{Forward, Head, HeadAt, HeadRoom};
use super::layer::LayerRoom;
use super::model::DeviceModel;
use crate::backend::check::{DECODE_ROWS, check_tokens};
use crate::backend::{Decoder, Logits};
use crate::error::{ArithmeticError, Quantity};
use crate::kernels::TakeRows;
use crate::transformer::{Fault, Input, Span, inputs};

/// Rows that go through the layers together.
const ROWS: usize = 4096;

/// A decoder over a model that others share.
pub(super) struct CudaDecoder {
    model: Arc<DeviceModel>,
    cache: PagedCache,
    memory: Memory,
    /// The logits of the last call.
    values: Vec<f32>,
}

/// Memory on the device for one batch at a time.
struct Memory {
    rows: Room<u32>,
    x: Room<f32>,
    layer: LayerRoom,
    head: HeadRoom,
    last: Room<u32>,
    notes: Notes,
}

/// Tokens to append to a slot.
type Work<'a> = (usize, &'a [u32]);

/// Rows that go through the layers together, and which sequences end among them.
#[derive(Default)]
struct Batch {
    inputs: Vec<Input>,
    spans: Vec<Span>,
    /// The last rows of sequences that end here, in the order of work.
    last: Vec<u32>,
}

impl CudaDecoder {
    pub(super) fn new(model: Arc<DeviceModel>, slots: usize) -> Self {
        let memory = Memory {
            rows: Room::new("rows"),
            x: Room::new("the residual stream"),
            layer: LayerRoom::new(),
            head: HeadRoom::new(),
            last: Room::new("rows"),
            notes: Notes::new(),
        };
        Self { cache: PagedCache::new(&model, slots), model, memory, values: Vec::new() }
    }

    fn check_slot(&self, slot: usize) -> Result<(), ArithmeticError> {
        let slots = self.cache.pages.slots();
        if slot < slots { Ok(()) } else { Err(ArithmeticError::Slot { slot, slots }) }
    }

    fn check(&self, work: &[Work<'_>]) -> Result<(), ArithmeticError> {
        let slots = self.cache.pages.slots();
        let mut seen = vec![false; slots];
        for (sequence, &(slot, tokens)) in work.iter().enumerate() {
            self.check_slot(slot)?;
            if std::mem::replace(&mut seen[slot], true) {
                return Err(ArithmeticError::Slot { slot, slots });
            }
            if tokens.is_empty() {
                return Err(ArithmeticError::Sequence { sequence, reason: "no token to append" });
            }
            check_tokens(&self.model.shape, sequence, self.cache.pages.len(slot), tokens)?;
        }
        Ok(())
    }

    /// Cuts work into batches, and gives its slots pages.
    fn batches(&mut self, work: &[Work<'_>]) -> Vec<Batch> {
        let pages = &mut self.cache.pages;
        let mut batches = vec![Batch::default()];
        for &(slot, tokens) in work {
            let mut rest = tokens;
            while !rest.is_empty() {
                if batches.last().is_none_or(|batch| batch.inputs.len() == ROWS) {
                    batches.push(Batch::default());
                }
                let Some(batch) = batches.last_mut() else { continue };
                let (part, behind) = rest.split_at(rest.len().min(ROWS - batch.inputs.len()));
                rest = behind;
                let (first, start) = (batch.inputs.len(), pages.len(slot));
                pages.reserve(slot, start + part.len());
                batch.spans.push(Span { slot, first, rows: part.len(), start });
                batch.inputs.extend(inputs(pages.last(slot), part));
                if rest.is_empty() {
                    batch.last.push(batch.inputs.len() as u32 - 1);
                }
                pages.advance(slot, part);
            }
        }
        batches
    }

    /// Sends a batch through the layers; the last rows of its sequences become the head's rows from `ended` on.
    fn layers(
        &mut self,
        batch: &Batch,
        notes: NotesAt,
        head: &HeadAt,
        ended: usize,
    ) -> Result<(), DeviceError> {
        let Self { model, cache, memory, .. } = self;
        let (device, sizes) = (&model.device, &model.sizes);
        let rows = Rows::of(&batch.inputs, &batch.spans, &cache.pages).upload(device, &mut memory.rows)?;
        let at = memory.layer.at(device, sizes, rows.count)?;
        let x = memory.x.address(device, batch.inputs.len() * sizes.width as usize)?;
        let forward = Forward { model, rows, cache: cache.at(model)?, notes };
        forward.embed(x)?;
        for layer in 0..sizes.layers {
            forward.layer(layer, x, &at)?;
        }
        let last = memory.last.at_least(device, batch.last.len())?;
        last.write(device, &batch.last)?;
        device.launch(&TakeRows {
            from: x,
            index: last.address(),
            rows: batch.last.len() as u32,
            width: sizes.width,
            out: head.x.floats(ended * sizes.width as usize),
        })
    }

    /// Computes the logits of the last position of each piece of work, and says what was refused.
    fn compute(
        &mut self,
        work: &[Work<'_>],
    ) -> Result<Option<(Quantity, Option<usize>, Place)>, DeviceError> {
        let model = Arc::clone(&self.model);
        let (device, sizes) = (&model.device, &model.sizes);
        let rows: usize = work.iter().map(|(_, tokens)| tokens.len()).sum();
        let notes = self.memory.notes.begin(device, rows + work.len())?;
        let head = self.memory.head.at(device, sizes, work.len())?;
        let (mut row, mut ended) = (0, 0);
        for batch in self.batches(work) {
            self.layers(&batch, notes.starting_at_row(row), &head, ended)?;
            row += batch.inputs.len();
            ended += batch.last.len();
        }
        Head { model: &model, rows: work.len() as u32, at: head, notes: notes.starting_at_row(rows) }
            .run()?;
        self.values.resize(work.len() * sizes.vocab as usize, 0.0);
        self.memory.head.read_logits(device, &mut self.values)?;
        if !self.memory.notes.halted(device)? {
            return Ok(None);
        }
        let notes = self.memory.notes.read(device, rows + work.len())?;
        refused(&notes, rows).map(Some).ok_or(DeviceError::Unexplained)
    }

    /// Which sequence a row belongs to, and which position of it.
    fn locate(&self, work: &[Work<'_>], place: Place) -> (usize, usize) {
        match place {
            Place::Ended(sequence) => (sequence, self.cache.pages.len(work[sequence].0) - 1),
            Place::Row(row) => {
                let mut left = row;
                for (sequence, &(slot, tokens)) in work.iter().enumerate() {
                    if left < tokens.len() {
                        return (sequence, self.cache.pages.len(slot) - tokens.len() + left);
                    }
                    left -= tokens.len();
                }
                (0, 0)
            }
        }
    }
}

/// Where something is refused.
#[derive(Clone, Copy)]
enum Place {
    /// In a row of the work.
    Row(usize),
    /// In the last position of a piece of work.
    Ended(usize),
}

/// What the processor would name first: it stops at the first stretch of rows with a fault, and before the head.
fn refused(notes: &[u32], rows: usize) -> Option<(Quantity, Option<usize>, Place)> {
    let (of_rows, of_head) = notes.split_at(rows);
    for (stretch, notes) in of_rows.chunks(DECODE_ROWS).enumerate() {
        if let Some(Fault { quantity, layer, row }) = faults::first(notes) {
            return Some((quantity, layer, Place::Row(stretch * DECODE_ROWS + row)));
        }
    }
    let Fault { quantity, layer, row } = faults::first(of_head)?;
    Some((quantity, layer, Place::Ended(row)))
}

impl Decoder for CudaDecoder {
    fn slots(&self) -> usize {
        self.cache.pages.slots()
    }

    fn len(&self, slot: usize) -> usize {
        if slot < self.cache.pages.slots() { self.cache.pages.len(slot) } else { 0 }
    }

    fn reset(&mut self, slot: usize) -> Result<(), ArithmeticError> {
        self.check_slot(slot)?;
        self.cache.pages.reset(slot);
        Ok(())
    }

    fn fork(&mut self, from: usize, to: usize) -> Result<(), ArithmeticError> {
        self.check_slot(from)?;
        self.check_slot(to)?;
        Ok(self.cache.fork(&self.model, from, to)?)
    }

    fn extend(&mut self, work: &[Work<'_>]) -> Result<Logits<'_>, ArithmeticError> {
        self.check(work)?;
        let vocab = self.model.sizes.vocab as usize;
        if work.is_empty() {
            return Ok(Logits { values: &[], vocab });
        }
        if let Some((quantity, layer, place)) = self.compute(work)? {
            let (sequence, position) = self.locate(work, place);
            return Err(ArithmeticError::NotFinite { quantity, layer, sequence, position });
        }
        if let Some(at) = self.values.iter().position(|logit| !logit.is_finite()) {
            let (sequence, position) = self.locate(work, Place::Ended(at / vocab));
            let quantity = Quantity::Logits;
            return Err(ArithmeticError::NotFinite { quantity, layer: None, sequence, position });
        }
        Ok(Logits { values: &self.values, vocab })
    }
}
