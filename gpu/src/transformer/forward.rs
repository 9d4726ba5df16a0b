//! The forward pass over rows of any sequences.

use super::activations::{LayerState, Scratch, grow};
use super::attention::Attend;
use super::feed_forward::Gated;
use super::kv::{KvCache, Place};
use super::model::Model;
use super::norm::Norm;
use super::rotate::Rotate;
use crate::error::Quantity;
use crate::gemm::{Rows, Start, product};
use crate::weights::LayerTensor;

/// One token to be read: itself and the two before it, where there are such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) token: u32,
    pub(crate) previous: [Option<u32>; 2],
}

/// Consecutive rows of a batch that are consecutive positions of one slot's sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) slot: usize,
    /// The first row.
    pub(crate) first: usize,
    pub(crate) rows: usize,
    /// The first row's position.
    pub(crate) start: usize,
}

/// A row whose results are not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) quantity: Quantity,
    pub(crate) layer: Option<usize>,
    pub(crate) row: usize,
}

/// The inputs of tokens that follow `last` (the last token, and the one before it).
pub(crate) fn inputs(last: [Option<u32>; 2], tokens: &[u32]) -> impl Iterator<Item = Input> + '_ {
    let mut previous = last;
    tokens.iter().map(move |&token| {
        let input = Input { token, previous };
        previous = [Some(token), previous[0]];
        input
    })
}

impl Model {
    /// The sum of the tables' rows. Tokens must be in the vocabulary.
    pub(super) fn embed(&self, inputs: impl Iterator<Item = Input>, x: &mut [f32]) {
        let width = self.shape().width as usize;
        let tables = self.shape().ngram as usize;
        for (input, x) in inputs.zip(x.chunks_exact_mut(width)) {
            x.copy_from_slice(&self.weights.embedding()[input.token as usize * width..][..width]);
            for (distance, token) in input.previous.into_iter().take(tables).enumerate() {
                let Some(token) = token else { continue };
                let table = self.weights.previous(distance + 1);
                for (x, from) in x.iter_mut().zip(&table[token as usize * width..][..width]) {
                    *x += from;
                }
            }
        }
    }

    /// One layer: `x` (rows without gaps) is replaced by the residual stream behind the layer.
    pub(super) fn layer(
        &self,
        layer: usize,
        spans: &[Span],
        cache: &mut KvCache,
        x: &mut [f32],
        state: &mut LayerState,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let shape = self.shape();
        let rows = x.len() / shape.width as usize;
        state.grow(shape, self.heads, rows);
        let at = |quantity| move |row| Fault { quantity, layer: Some(layer), row };

        let gain = self.weights.layer(layer, LayerTensor::AttentionNorm);
        let (hat, inverse, out) = (&mut state.hat1, &mut state.inverse1[..rows], &mut state.h1);
        let bad = Norm { x, gain, eps: shape.norm_eps, hat, inverse, out }.run(self.isa);
        bad.map(at(Quantity::Residual)).map_or(Ok(()), Err)?;

        self.attend(layer, spans, cache, rows, state, scratch)?;
        let context = Rows { values: &state.context, stride: shape.query_width() };
        product(self.isa, context, &self.forward(layer).output, Start::Output, x);

        let gain = self.weights.layer(layer, LayerTensor::FeedForwardNorm);
        let (hat, inverse, out) = (&mut state.hat2, &mut state.inverse2[..rows], &mut state.h2);
        let bad = Norm { x, gain, eps: shape.norm_eps, hat, inverse, out }.run(self.isa);
        bad.map(at(Quantity::Residual)).map_or(Ok(()), Err)?;

        let hidden = shape.hidden as usize;
        let packs = self.forward(layer);
        let h = Rows { values: &state.h2, stride: shape.width as usize };
        let gate_up = &mut state.gate_up[..rows * 2 * hidden];
        product(self.isa, h, &packs.gate_up, Start::Zero, gate_up);
        Gated { hidden, gate_up, act: &mut state.act }.run(self.isa);
        product(self.isa, Rows { values: &state.act, stride: hidden }, &packs.down, Start::Output, x);
        Ok(())
    }

    /// Queries, keys and values of the rows, keys and values into the cache, and what the queries attend to.
    fn attend(
        &self,
        layer: usize,
        spans: &[Span],
        cache: &mut KvCache,
        rows: usize,
        state: &mut LayerState,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let shape = self.shape();
        let at = |quantity| move |row| Fault { quantity, layer: Some(layer), row };
        let stride = self.heads.width() + shape.kv_width();
        let qkv = &mut state.qkv[..rows * stride];
        let h = Rows { values: &state.h1, stride: shape.width as usize };
        product(self.isa, h, &self.forward(layer).qkv, Start::Zero, qkv);

        scratch.positions.clear();
        for span in spans {
            scratch.positions.extend(span.start..span.start + span.rows);
        }
        let rotate = Rotate {
            heads: self.heads,
            gains: self.head_gains(layer),
            eps: shape.norm_eps,
            rope: &self.rope,
            positions: &scratch.positions,
            x: &state.qkv,
            stride,
            hat: &mut state.hat_heads,
            inverse: &mut state.inverse_heads,
            out: &mut state.heads,
        };
        rotate.run(self.isa).map(at(Quantity::QueryKey)).map_or(Ok(()), Err)?;
        self.remember(layer, spans, cache, state);

        let attend = Attend {
            heads: self.heads,
            layer,
            spans,
            cache,
            queries: &state.heads,
            scale: self.scale,
            scores: &mut scratch.scores,
            out: &mut state.context,
            stats: &mut state.stats,
        };
        attend.run(self.isa).map(at(Quantity::Attention)).map_or(Ok(()), Err)
    }

    /// Writes the rows' keys and values into the cache.
    fn remember(&self, layer: usize, spans: &[Span], cache: &mut KvCache, state: &LayerState) {
        let (dim, width) = (self.heads.head_dim, self.heads.width());
        let stride = width + self.shape().kv_width();
        for span in spans {
            for offset in 0..span.rows {
                let row = span.first + offset;
                for head in 0..self.heads.keys {
                    let key = &state.heads[row * width + (self.heads.queries + head) * dim..][..dim];
                    let value = &state.qkv[row * stride + width + head * dim..][..dim];
                    let place = Place { slot: span.slot, layer, head, position: span.start + offset };
                    cache.write(place, key, value);
                }
            }
        }
    }

    /// All layers over a batch of rows; `x` receives the residual stream behind the last. `states` holds one state for
    /// every layer, or one that all use in turn. The cache must have room.
    pub(crate) fn run(
        &self,
        batch: impl Iterator<Item = Input>,
        spans: &[Span],
        cache: &mut KvCache,
        x: &mut Vec<f32>,
        states: &mut [LayerState],
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let rows = spans.iter().map(|span| span.rows).sum::<usize>();
        let len = rows * self.shape().width as usize;
        grow(x, len);
        let x = &mut x[..len];
        self.embed(batch, x);
        for layer in 0..self.shape().layers as usize {
            let state = if states.len() > 1 { layer } else { 0 };
            self.layer(layer, spans, cache, x, &mut states[state], scratch)?;
        }
        Ok(())
    }
}
