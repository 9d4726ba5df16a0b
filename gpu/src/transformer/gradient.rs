//! Gradients of weights, from what the sequences' backward passes left.
//!
//! - A matrix: each value is one chain over all tokens of all sequences, in their order, from 0.
//! - A gain: one chain over the rows of a sequence from 0; the sequences' results are added in their order.
//! - A table: rows of gradients are added in the order of tokens. The token embedding is also the last matrix: its two
//!   gradients are summed apart and added at the end.
//!
//! Each part of the sums takes up the sequences in order, so gradients do not depend on who computes which part, nor on how
//! many sequences are under way.

use super::activations::SequenceWork;
use super::forward::inputs;
use super::model::Model;
use crate::gemm::{Rows, Scratch, accumulate_transposed};
use crate::shape::ModelShape;
use crate::weights::{LayerTensor, Role, TensorMut, Weights, WeightsError};

/// Rows of a matrix gradient that are one item of work.
const ROWS: usize = 96;

/// The sums of a step.
pub(crate) struct Gradients {
    sums: Weights,
    /// Of the token embedding as a table.
    lookup: Vec<f32>,
}

impl Gradients {
    /// All zeros.
    pub(crate) fn new(shape: &ModelShape) -> Result<Self, WeightsError> {
        let sums = Weights::zeros(shape)?;
        let lookup = vec![0.0; sums.embedding().len()];
        Ok(Self { sums, lookup })
    }

    /// The parts that can be summed side by side.
    pub(crate) fn parts(&mut self, shape: &ModelShape) -> Vec<Sum<'_>> {
        let mut parts = vec![Sum::Lookup { distance: 0, out: &mut self.lookup }];
        let mut gain = 0;
        for (index, TensorMut { spec, values }) in self.sums.tensors_mut().into_iter().enumerate() {
            match spec.role {
                Role::Norm => {
                    let first = gain;
                    gain += spec.cols;
                    parts.push(Sum::Gain { first, out: values });
                }
                Role::Embedding if index > 0 => parts.push(Sum::Lookup { distance: index, out: values }),
                Role::Embedding | Role::Matrix => {
                    let source = Source::of(shape, index);
                    for (block, out) in values.chunks_mut(ROWS * spec.cols).enumerate() {
                        parts.push(Sum::Product { source, row: block * ROWS, cols: spec.cols, out });
                    }
                }
            }
        }
        parts
    }

    /// The sums, all parts together.
    pub(crate) fn finish(mut self) -> Weights {
        if let Some(table) = self.sums.tensors_mut().into_iter().next() {
            for (sum, lookup) in table.values.iter_mut().zip(&self.lookup) {
                *sum += lookup;
            }
        }
        self.sums
    }
}

/// Which activations and which gradients a matrix's gradient is the product of.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    Head,
    Layer(usize, LayerTensor),
}

impl Source {
    /// The source of the tensor at this place of the canonical order.
    fn of(shape: &ModelShape, index: usize) -> Self {
        use LayerTensor::{Down, Gate, Key, Output, Query, Up, Value};
        for layer in 0..shape.layers as usize {
            for tensor in [Query, Key, Value, Output, Gate, Up, Down] {
                if crate::weights::layer_index(shape, layer, tensor) == index {
                    return Self::Layer(layer, tensor);
                }
            }
        }
        Self::Head
    }

    /// Left and right factors of a sequence, and its number of rows.
    fn factors<'a>(self, model: &Model, work: &'a SequenceWork) -> (Rows<'a>, Rows<'a>, usize) {
        let shape = model.shape();
        let (width, hidden) = (shape.width as usize, shape.hidden as usize);
        let (query, kv) = (shape.query_width(), shape.kv_width());
        let rows = |values: &'a [f32], stride| Rows { values, stride };
        let Self::Layer(layer, tensor) = self else {
            let head = &work.head;
            return (rows(&head.logits, shape.vocab as usize), rows(&head.h, width), head.rows);
        };
        let state = &work.layers[layer];
        let qkv = |offset: usize| rows(&state.qkv[offset..], query + 2 * kv);
        let (left, right) = match tensor {
            LayerTensor::Query => (rows(&state.h1, width), qkv(0)),
            LayerTensor::Key => (rows(&state.h1, width), qkv(query)),
            LayerTensor::Value => (rows(&state.h1, width), qkv(query + kv)),
            LayerTensor::Output => (rows(&state.context, query), rows(&state.dattention, width)),
            LayerTensor::Gate => (rows(&state.h2, width), rows(&state.gate_up, 2 * hidden)),
            LayerTensor::Up => (rows(&state.h2, width), rows(&state.gate_up[hidden..], 2 * hidden)),
            _ => (rows(&state.act, hidden), rows(&state.dfeed_forward, width)),
        };
        (left, right, work.tokens.len())
    }
}

/// A part of the gradients that one thread at a time sums.
pub(crate) enum Sum<'a> {
    /// Rows of a matrix's gradient.
    Product { source: Source, row: usize, cols: usize, out: &'a mut [f32] },
    /// A gain's gradient.
    Gain { first: usize, out: &'a mut [f32] },
    /// The gradient of a table that tokens this far back are looked up in.
    Lookup { distance: usize, out: &'a mut [f32] },
}

impl Sum<'_> {
    /// Continues all chains of this part over a sequence.
    pub(crate) fn take_up(&mut self, model: &Model, work: &SequenceWork, scratch: &mut Scratch) {
        match self {
            Self::Product { source, row, cols, out } => {
                let (left, right, tokens) = source.factors(model, work);
                if tokens > 0 {
                    let left = Rows { values: &left.values[*row..], stride: left.stride };
                    accumulate_transposed(model.isa, left, right, tokens, *cols, out, scratch);
                }
            }
            Self::Gain { first, out } => {
                for (sum, part) in out.iter_mut().zip(&work.dgains[*first..]) {
                    *sum += part;
                }
            }
            Self::Lookup { distance, out } => {
                let width = model.shape().width as usize;
                for (input, dx) in inputs([None; 2], &work.tokens).zip(work.x.chunks_exact(width)) {
                    let token = match *distance {
                        0 => Some(input.token),
                        back => input.previous[back - 1],
                    };
                    let Some(token) = token else { continue };
                    for (sum, dx) in out[token as usize * width..][..width].iter_mut().zip(dx) {
                        *sum += dx;
                    }
                }
            }
        }
    }
}
