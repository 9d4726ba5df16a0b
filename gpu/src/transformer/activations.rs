//! Memory of a forward pass: what a layer computes on the way, and what the backward pass will want.

use super::attention::{BackwardScratch, RowStat};
use super::head::HeadState;
use super::kv::KvCache;
use super::rotate::Heads;
use crate::shape::ModelShape;

/// What one layer computes for its rows. Buffers only grow; only their beginnings are in use.
#[derive(Default)]
pub(crate) struct LayerState {
    /// `[rows, width]` each: the two norms' inputs over their root mean squares, and the norms' results.
    pub(super) hat1: Vec<f32>,
    pub(super) h1: Vec<f32>,
    pub(super) hat2: Vec<f32>,
    pub(super) h2: Vec<f32>,
    /// `[rows]` each.
    pub(super) inverse1: Vec<f32>,
    pub(super) inverse2: Vec<f32>,
    /// `[rows, query + key + value width]`; the backward pass leaves gradients here.
    pub(super) qkv: Vec<f32>,
    /// `[rows, query + key width]` each: heads over their root mean squares; rotated heads.
    pub(super) hat_heads: Vec<f32>,
    pub(super) heads: Vec<f32>,
    /// `[rows, query + key heads]`.
    pub(super) inverse_heads: Vec<f32>,
    /// `[rows, query width]`.
    pub(super) context: Vec<f32>,
    /// `[rows, query heads]`.
    pub(super) stats: Vec<RowStat>,
    /// `[rows, 2 hidden]`; the backward pass leaves gradients here.
    pub(super) gate_up: Vec<f32>,
    /// `[rows, hidden]`.
    pub(super) act: Vec<f32>,
    /// `[rows, width]` each, of the backward pass: gradients of what attention and the feed-forward layer add.
    pub(super) dattention: Vec<f32>,
    pub(super) dfeed_forward: Vec<f32>,
}

/// Makes a buffer at least this long.
pub(super) fn grow<T: Clone + Default>(buffer: &mut Vec<T>, len: usize) {
    if buffer.len() < len {
        buffer.resize(len, T::default());
    }
}

impl LayerState {
    pub(super) fn grow(&mut self, shape: &ModelShape, heads: Heads, rows: usize) {
        let (width, hidden) = (shape.width as usize, shape.hidden as usize);
        for buffer in [&mut self.hat1, &mut self.h1, &mut self.hat2, &mut self.h2] {
            grow(buffer, rows * width);
        }
        grow(&mut self.inverse1, rows);
        grow(&mut self.inverse2, rows);
        grow(&mut self.qkv, rows * (heads.width() + shape.kv_width()));
        grow(&mut self.hat_heads, rows * heads.width());
        grow(&mut self.heads, rows * heads.width());
        grow(&mut self.inverse_heads, rows * (heads.queries + heads.keys));
        grow(&mut self.context, rows * shape.query_width());
        grow(&mut self.stats, rows * heads.queries);
        grow(&mut self.gate_up, rows * 2 * hidden);
        grow(&mut self.act, rows * hidden);
    }
}

/// Memory that a thread uses again and again.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(super) scores: Vec<f32>,
    pub(super) positions: Vec<usize>,
    /// One row of the vocabulary each.
    pub(super) row_log_probs: Vec<f32>,
    pub(super) row_weights: Vec<f32>,
    pub(super) attention: BackwardScratch,
    /// Gradients that live within one layer.
    pub(super) dact: Vec<f32>,
    pub(super) dh: Vec<f32>,
    pub(super) dcontext: Vec<f32>,
    pub(super) dheads: Vec<f32>,
}

/// Everything of one sequence that a trainer needs between the forward pass and the weights' gradients.
pub(crate) struct SequenceWork {
    pub(super) cache: KvCache,
    pub(super) layers: Vec<LayerState>,
    pub(super) head: HeadState,
    pub(super) tokens: Vec<u32>,
    /// The residual stream; after the backward pass, the gradient of the embeddings' sum.
    pub(super) x: Vec<f32>,
    /// Gradients of all gains of this sequence, tensor after tensor in canonical order.
    pub(super) dgains: Vec<f32>,
}

impl SequenceWork {
    /// Memory for one sequence at a time.
    pub(crate) fn new(shape: &ModelShape) -> Self {
        let mut layers = Vec::new();
        layers.resize_with(shape.layers as usize, LayerState::default);
        Self {
            cache: KvCache::new(shape, 1),
            layers,
            head: HeadState::default(),
            tokens: Vec::new(),
            x: Vec::new(),
            dgains: Vec::new(),
        }
    }
}
