//! The backward pass of one sequence: from gradients of log-probabilities to gradients of activations.

use super::activations::{LayerState, Scratch, SequenceWork, grow};
use super::attention::AttendBackward;
use super::feed_forward::GatedBackward;
use super::forward::{Fault, Span, inputs};
use super::head::{LogitGradient, target_rows};
use super::model::{LayerPacks, Model};
use super::norm::NormBackward;
use super::rotate::RotateBackward;
use crate::error::Quantity;
use crate::gemm::{Packed, Rows, Start, product};
use crate::sample::log_softmax_row;
use crate::weights::LayerTensor;
use core::ops::Range;

/// What the forward pass says about a sequence's targets.
pub(crate) struct Targets {
    /// Log-probability of each target.
    pub(crate) log_probs: Vec<f32>,
    /// Entropy at each target.
    pub(crate) entropies: Vec<f32>,
    /// Sum of the weights that stand in place of each target's logits.
    sums: Vec<f32>,
}

impl Model {
    /// The forward pass over one whole sequence; keeps what the backward pass wants. Tokens must be in the vocabulary
    /// and fit the context, targets must lie behind the first token.
    pub(crate) fn forward_sequence(
        &self,
        tokens: &[u32],
        targets: &[Range<u32>],
        temperature: f32,
        work: &mut SequenceWork,
        scratch: &mut Scratch,
    ) -> Result<Targets, Fault> {
        let (width, vocab) = (self.shape().width as usize, self.shape().vocab as usize);
        work.tokens.clear();
        work.tokens.extend_from_slice(tokens);
        work.cache.reset(0);
        work.cache.reserve(0, tokens.len());
        let span = Span { slot: 0, first: 0, rows: tokens.len(), start: 0 };
        let batch = inputs([None; 2], tokens);
        self.run(batch, &[span], &mut work.cache, &mut work.x, &mut work.layers, scratch)?;

        work.head.gather(&work.x, width, target_rows(targets));
        let rows: Vec<usize> = target_rows(targets).collect();
        self.logits(&mut work.head).map_err(|fault| Fault { row: rows[fault.row], ..fault })?;
        let mut found = Targets { log_probs: Vec::new(), entropies: Vec::new(), sums: Vec::new() };
        grow(&mut scratch.row_log_probs, vocab);
        grow(&mut scratch.row_weights, vocab);
        let (log_probs, weights) = (&mut scratch.row_log_probs[..vocab], &mut scratch.row_weights[..vocab]);
        for (index, &row) in rows.iter().enumerate() {
            let logits = work.head.row_mut(index, vocab);
            let Ok(sums) = log_softmax_row(self.isa, logits, temperature, log_probs, weights) else {
                return Err(Fault { quantity: Quantity::Logits, layer: None, row });
            };
            logits.copy_from_slice(weights);
            found.log_probs.push(log_probs[tokens[row + 1] as usize]);
            found.entropies.push(sums.entropy);
            found.sums.push(sums.sum);
        }
        Ok(found)
    }

    /// The backward pass of the sequence that `work` has been through: `gradients` holds that of each target's
    /// log-probability. Leaves in `work` what the weights' gradients are made of.
    pub(crate) fn backward_sequence(
        &self,
        targets: &[Range<u32>],
        found: &Targets,
        gradients: &[f32],
        temperature: f32,
        work: &mut SequenceWork,
        scratch: &mut Scratch,
    ) {
        let Some((layers, head)) = self.backward() else { return };
        let width = self.shape().width as usize;
        let len = work.tokens.len() * width;
        work.dgains.clear();
        work.dgains.resize(self.gain_count(), 0.0);
        for (index, row) in target_rows(targets).enumerate() {
            let token = work.tokens[row + 1] as usize;
            let row = work.head.row_mut(index, self.shape().vocab as usize);
            if gradients[index] == 0.0 {
                row.fill(0.0);
                continue;
            }
            let gradient = gradients[index] / temperature;
            LogitGradient { row, sum: found.sums[index], token, gradient }.run(self.isa);
        }
        self.head_backward(head, targets, work, scratch);
        for (layer, packs) in layers.iter().enumerate().rev() {
            let SequenceWork { cache, layers, x, dgains, .. } = work;
            let gains = self.gain_range(layer);
            let mut pass = LayerBackward { model: self, packs, layer, cache, scratch };
            pass.run(&mut x[..len], &mut layers[layer], &mut dgains[gains]);
        }
    }

    /// Through the logits and the last norm; `work.x` becomes the gradient of the last residual stream.
    fn head_backward(
        &self,
        head: &Packed,
        targets: &[Range<u32>],
        work: &mut SequenceWork,
        scratch: &mut Scratch,
    ) {
        let (width, vocab) = (self.shape().width as usize, self.shape().vocab as usize);
        let rows = work.head.rows;
        grow(&mut scratch.dh, rows * width);
        let dlogits = Rows { values: &work.head.logits, stride: vocab };
        product(self.isa, dlogits, head, Start::Zero, &mut scratch.dh[..rows * width]);
        // The gathered rows have served; their gradients take their place.
        work.head.x.fill(0.0);
        let gains = self.gain_count() - width;
        let norm = NormBackward {
            dout: &scratch.dh,
            hat: &work.head.hat,
            inverse: &work.head.inverse[..rows],
            gain: self.weights.final_norm(),
            dx: &mut work.head.x,
            dgain: &mut work.dgains[gains..],
        };
        norm.run(self.isa);
        work.x[..work.tokens.len() * width].fill(0.0);
        for (row, dx) in target_rows(targets).zip(work.head.x.chunks_exact(width)) {
            work.x[row * width..][..width].copy_from_slice(dx);
        }
    }

    /// Number of all gains.
    pub(super) fn gain_count(&self) -> usize {
        let shape = self.shape();
        shape.layers as usize * self.layer_gains() + shape.width as usize
    }

    fn layer_gains(&self) -> usize {
        2 * (self.shape().width + self.shape().head_dim) as usize
    }

    fn gain_range(&self, layer: usize) -> Range<usize> {
        layer * self.layer_gains()..(layer + 1) * self.layer_gains()
    }
}

/// One layer's way back.
struct LayerBackward<'a> {
    model: &'a Model,
    packs: &'a LayerPacks,
    layer: usize,
    cache: &'a super::kv::KvCache,
    scratch: &'a mut Scratch,
}

impl LayerBackward<'_> {
    /// `dx` holds the gradient of the residual stream behind the layer and receives that in front of it. `dgains`: those
    /// of the norm before attention, of queries, of keys, of the norm before the feed-forward layer.
    fn run(&mut self, dx: &mut [f32], state: &mut LayerState, dgains: &mut [f32]) {
        let shape = self.model.shape();
        let (width, dim) = (shape.width as usize, shape.head_dim as usize);
        let (dgain1, rest) = dgains.split_at_mut(width);
        let (dgain_heads, dgain2) = rest.split_at_mut(2 * dim);
        self.feed_forward(dx, state, dgain2);
        self.attention(dx, state, dgain_heads);
        self.through_norm(LayerTensor::AttentionNorm, dx, &state.hat1, &state.inverse1, dgain1);
    }

    fn feed_forward(&mut self, dx: &mut [f32], state: &mut LayerState, dgain: &mut [f32]) {
        let shape = self.model.shape();
        let (width, hidden, isa) = (shape.width as usize, shape.hidden as usize, self.model.isa);
        let rows = dx.len() / width;
        keep(dx, &mut state.dfeed_forward);
        grow(&mut self.scratch.dact, rows * hidden);
        let dact = &mut self.scratch.dact[..rows * hidden];
        product(isa, Rows { values: dx, stride: width }, &self.packs.down, Start::Zero, dact);
        let gate_up = &mut state.gate_up[..rows * 2 * hidden];
        GatedBackward { hidden, dact, gate_up }.run(isa);
        grow(&mut self.scratch.dh, rows * width);
        let dgate_up = Rows { values: &state.gate_up, stride: 2 * hidden };
        product(isa, dgate_up, &self.packs.gate_up, Start::Zero, &mut self.scratch.dh[..rows * width]);
        self.through_norm(LayerTensor::FeedForwardNorm, dx, &state.hat2, &state.inverse2, dgain);
    }

    /// Leaves the gradient of the attention norm's result in `scratch.dh`.
    fn attention(&mut self, dx: &[f32], state: &mut LayerState, dgain: &mut [f32]) {
        let model = self.model;
        let shape = model.shape();
        let (width, isa) = (shape.width as usize, model.isa);
        let rows = dx.len() / width;
        let (query, head_width) = (shape.query_width(), model.heads.width());
        let stride = head_width + shape.kv_width();
        keep(dx, &mut state.dattention);
        grow(&mut self.scratch.dcontext, rows * query);
        grow(&mut self.scratch.dheads, rows * head_width);
        let dcontext = &mut self.scratch.dcontext[..rows * query];
        product(isa, Rows { values: dx, stride: width }, &self.packs.output, Start::Zero, dcontext);
        let attend = AttendBackward {
            heads: model.heads,
            layer: self.layer,
            slot: 0,
            len: rows,
            cache: self.cache,
            queries: &state.heads,
            out: &state.context,
            stats: &state.stats,
            dout: dcontext,
            scale: model.scale,
            scratch: &mut self.scratch.attention,
            dheads: &mut self.scratch.dheads,
            dvalues: &mut state.qkv,
            dvalue_stride: stride,
            dvalue_offset: head_width,
        };
        attend.run(isa);
        let (dquery_gain, dkey_gain) = dgain.split_at_mut(shape.head_dim as usize);
        let rotate = RotateBackward {
            heads: model.heads,
            gains: model.head_gains(self.layer),
            rope: &model.rope,
            hat: &state.hat_heads,
            inverse: &state.inverse_heads,
            dout: &mut self.scratch.dheads,
            dx: &mut state.qkv[..rows * stride],
            stride,
            dquery_gain,
            dkey_gain,
        };
        rotate.run(isa);
        let dqkv = Rows { values: &state.qkv, stride };
        product(isa, dqkv, &self.packs.qkv, Start::Zero, &mut self.scratch.dh[..rows * width]);
    }

    fn through_norm(
        &self,
        tensor: LayerTensor,
        dx: &mut [f32],
        hat: &[f32],
        inverse: &[f32],
        dgain: &mut [f32],
    ) {
        let gain = self.model.weights.layer(self.layer, tensor);
        let rows = dx.len() / gain.len();
        let dout = &self.scratch.dh;
        NormBackward { dout, hat, inverse: &inverse[..rows], gain, dx, dgain }.run(self.model.isa);
    }
}

/// Copies a gradient that the weights' gradients will want.
fn keep(from: &[f32], to: &mut Vec<f32>) {
    to.clear();
    to.extend_from_slice(from);
}
