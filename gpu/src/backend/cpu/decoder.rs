//! Sequences that grow, on one thread.

use super::super::check::{DECODE_ROWS, check_tokens, check_wanted, fault_at};
use super::super::{Decoder, Logits};
use crate::error::{ArithmeticError, Quantity};
use crate::transformer::{Fault, HeadState, Input, KvCache, LayerState, Model, Scratch, Span, inputs};
use crate::vector::{environment_is_exact, first_not_finite};
use std::sync::Arc;

/// A decoder over a model that others share.
pub(super) struct CpuDecoder {
    model: Arc<Model>,
    cache: KvCache,
    x: Vec<f32>,
    state: [LayerState; 1],
    scratch: Scratch,
    head: HeadState,
    inputs: Vec<Input>,
    spans: Vec<Span>,
    /// For each span: index into the work, and whether it ends there.
    origins: Vec<(usize, bool)>,
}

impl CpuDecoder {
    pub(super) fn new(model: Arc<Model>, slots: usize) -> Self {
        let cache = KvCache::new(model.shape(), slots);
        Self {
            model,
            cache,
            x: Vec::new(),
            state: [LayerState::default()],
            scratch: Scratch::default(),
            head: HeadState::default(),
            inputs: Vec::new(),
            spans: Vec::new(),
            origins: Vec::new(),
        }
    }

    fn check_slot(&self, slot: usize) -> Result<(), ArithmeticError> {
        let slots = self.cache.slots();
        if slot < slots { Ok(()) } else { Err(ArithmeticError::Slot { slot, slots }) }
    }

    fn check(&self, work: &[(usize, &[u32])]) -> Result<(), ArithmeticError> {
        let slots = self.cache.slots();
        let mut seen = vec![false; slots];
        for (sequence, &(slot, tokens)) in work.iter().enumerate() {
            self.check_slot(slot)?;
            if std::mem::replace(&mut seen[slot], true) {
                return Err(ArithmeticError::Slot { slot, slots });
            }
            if tokens.is_empty() {
                return Err(ArithmeticError::Sequence { sequence, reason: "no token to append" });
            }
            check_tokens(self.model.shape(), sequence, self.cache.len(slot), tokens)?;
        }
        if environment_is_exact() { Ok(()) } else { Err(ArithmeticError::Environment) }
    }

    /// Sends the collected rows through the layers and takes the last row of each sequence that ends among them.
    fn flush(&mut self) -> Result<(), ArithmeticError> {
        if self.spans.is_empty() {
            return Ok(());
        }
        let batch = self.inputs.iter().copied();
        let (cache, x, scratch) = (&mut self.cache, &mut self.x, &mut self.scratch);
        if let Err(fault) = self.model.run(batch, &self.spans, cache, x, &mut self.state, scratch) {
            return Err(self.locate(fault));
        }
        let width = self.model.shape().width as usize;
        for (span, &(index, ends)) in self.spans.iter().zip(&self.origins) {
            if ends {
                let last = span.first + span.rows - 1;
                self.head.put(index, &self.x[last * width..][..width]);
            }
        }
        self.inputs.clear();
        self.spans.clear();
        self.origins.clear();
        Ok(())
    }

    fn locate(&self, fault: Fault) -> ArithmeticError {
        let Fault { quantity, layer, row } = fault;
        for (span, &(sequence, _)) in self.spans.iter().zip(&self.origins) {
            if (span.first..span.first + span.rows).contains(&row) {
                let position = span.start + row - span.first;
                return ArithmeticError::NotFinite { quantity, layer, sequence, position };
            }
        }
        ArithmeticError::NotFinite { quantity, layer, sequence: 0, position: 0 }
    }

    /// Prefills slot 0 from its start and hands each stretch of the residual stream to `take`, with its first position.
    pub(super) fn prefill(
        &mut self,
        tokens: &[u32],
        mut take: impl FnMut(usize, &[f32]),
    ) -> Result<(), Fault> {
        self.cache.reset(0);
        for (chunk, part) in tokens.chunks(DECODE_ROWS).enumerate() {
            let rows = self.stretch(0, part)?;
            take(chunk * DECODE_ROWS, rows);
        }
        Ok(())
    }

    /// Appends at most [`DECODE_ROWS`] tokens to a slot: the residual stream behind them. Rows of faults are positions.
    fn stretch(&mut self, slot: usize, tokens: &[u32]) -> Result<&[f32], Fault> {
        let start = self.cache.len(slot);
        self.cache.reserve(slot, start + tokens.len());
        let span = Span { slot, first: 0, rows: tokens.len(), start };
        self.inputs.clear();
        self.inputs.extend(inputs(self.cache.last(slot), tokens));
        let batch = self.inputs.iter().copied();
        let (cache, x, scratch) = (&mut self.cache, &mut self.x, &mut self.scratch);
        self.model
            .run(batch, &[span], cache, x, &mut self.state, scratch)
            .map_err(|fault| Fault { row: fault.row + start, ..fault })?;
        self.cache.advance(slot, tokens);
        Ok(&self.x[..tokens.len() * self.model.shape().width as usize])
    }

    /// Appends tokens to a slot, and logits of the `wanted` places of them to `out`.
    fn read_stretch(
        &mut self,
        slot: usize,
        tokens: &[u32],
        wanted: impl Iterator<Item = usize>,
        out: &mut Vec<f32>,
    ) -> Result<(), Fault> {
        let (width, vocab) = (self.model.shape().width as usize, self.model.shape().vocab as usize);
        let start = self.cache.len(slot);
        self.stretch(slot, tokens)?;
        let wanted: Vec<usize> = wanted.collect();
        if wanted.is_empty() {
            return Ok(());
        }
        self.head.gather(&self.x, width, wanted.iter().copied());
        let at = |row: usize| start + wanted[row];
        self.model.logits(&mut self.head).map_err(|fault| Fault { row: at(fault.row), ..fault })?;
        let values = self.head.logits(vocab);
        if let Some(bad) = values.iter().position(|logit| !logit.is_finite()) {
            return Err(Fault { quantity: Quantity::Logits, layer: None, row: at(bad / vocab) });
        }
        out.extend_from_slice(values);
        Ok(())
    }
}

impl Decoder for CpuDecoder {
    fn slots(&self) -> usize {
        self.cache.slots()
    }

    fn len(&self, slot: usize) -> usize {
        if slot < self.cache.slots() { self.cache.len(slot) } else { 0 }
    }

    fn reset(&mut self, slot: usize) -> Result<(), ArithmeticError> {
        self.check_slot(slot)?;
        self.cache.reset(slot);
        Ok(())
    }

    fn fork(&mut self, from: usize, to: usize) -> Result<(), ArithmeticError> {
        self.check_slot(from)?;
        self.check_slot(to)?;
        self.cache.fork(from, to);
        Ok(())
    }

    fn extend(&mut self, work: &[(usize, &[u32])]) -> Result<Logits<'_>, ArithmeticError> {
        self.check(work)?;
        let (width, vocab) = (self.model.shape().width as usize, self.model.shape().vocab as usize);
        self.head.begin(width, work.len());
        self.inputs.clear();
        self.spans.clear();
        self.origins.clear();
        for (index, &(slot, tokens)) in work.iter().enumerate() {
            let mut rest = tokens;
            while !rest.is_empty() {
                if self.inputs.len() == DECODE_ROWS {
                    self.flush()?;
                }
                let (part, behind) = rest.split_at(rest.len().min(DECODE_ROWS - self.inputs.len()));
                rest = behind;
                let start = self.cache.len(slot);
                self.cache.reserve(slot, start + part.len());
                self.spans.push(Span { slot, first: self.inputs.len(), rows: part.len(), start });
                self.origins.push((index, rest.is_empty()));
                self.inputs.extend(inputs(self.cache.last(slot), part));
                self.cache.advance(slot, part);
            }
        }
        self.flush()?;
        if let Err(Fault { quantity, layer, row }) = self.model.logits(&mut self.head) {
            let position = self.cache.len(work[row].0) - 1;
            return Err(ArithmeticError::NotFinite { quantity, layer, sequence: row, position });
        }
        let values = self.head.logits(vocab);
        if let Some(at) = first_not_finite(values) {
            let (sequence, quantity) = (at / vocab, Quantity::Logits);
            let position = self.cache.len(work[sequence].0) - 1;
            return Err(ArithmeticError::NotFinite { quantity, layer: None, sequence, position });
        }
        Ok(Logits { values, vocab })
    }

    fn read(
        &mut self,
        slot: usize,
        tokens: &[u32],
        wanted: &[usize],
        logits: &mut Vec<f32>,
    ) -> Result<(), ArithmeticError> {
        check_wanted(tokens, wanted)?;
        self.check(&[(slot, tokens)])?;
        logits.clear();
        let mut wanted = wanted.iter().copied().peekable();
        for (chunk, part) in tokens.chunks(DECODE_ROWS).enumerate() {
            let first = chunk * DECODE_ROWS;
            let here = std::iter::from_fn(|| wanted.next_if(|&place| place < first + part.len()));
            self.read_stretch(slot, part, here.map(|place| place - first), logits)
                .map_err(|fault| fault_at(fault, 0))?;
        }
        Ok(())
    }
}
