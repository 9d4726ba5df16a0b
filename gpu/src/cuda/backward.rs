//! The backward pass of a micro-batch, and the gradients of weights that it leaves: the processor's, launch by launch.
//!
//! A matrix's gradient continues its chain from micro-batch to micro-batch, over the rows of all sequences in their order.
//! Where the processor multiplies by several matrices at once, here several launches continue one chain.

use super::error::DeviceError;
use super::forward::{FROM_OUTPUT, FROM_ZERO, Forward, HeadAt};
use super::layer::LayerAt;
use super::plan::PartAt;
use super::scratch::ScratchAt;
use crate::kernels::{
    Address, AttendBackward, AttendBackwardKeys, EmbedGradient, GainSum, GatedBackward, GemmNn, GemmNt,
    GemmTn, HeadGain, NormBackward, NormGain, RotateBackward, TakeRows,
};
use crate::weights::LayerTensor;

/// A micro-batch on its way back.
pub(super) struct Backward<'a> {
    /// The way that it came.
    pub(super) forward: Forward<'a>,
    pub(super) part: &'a PartAt,
    pub(super) scratch: ScratchAt,
    /// Sums of gradients, in the order of the weights.
    pub(super) gradients: Address,
    /// The gradient of the token embedding as a table.
    pub(super) lookup: Address,
}

/// Rows with their stride.
#[derive(Clone, Copy)]
struct Side {
    at: Address,
    stride: u32,
    columns: u32,
}

impl Side {
    fn whole(at: Address, columns: u32) -> Self {
        Self { at, stride: columns, columns }
    }
}

impl Backward<'_> {
    /// Through the logits, whose gradients stand in their place, and the last norm. `x` receives the gradient of the last
    /// residual stream; `head.x` has been filled with zeros.
    pub(super) fn head(&self, head: &HeadAt, x: Address) -> Result<(), DeviceError> {
        let (model, part) = (self.forward.model, self.part);
        let sizes = &model.sizes;
        self.sum_product(
            0,
            part.targets,
            Side::whole(head.logits, sizes.vocab),
            Side::whole(head.h, sizes.width),
        )?;
        model.device.launch(&GemmNn {
            a: head.logits,
            a_stride: sizes.vocab,
            b: model.embedding(),
            b_stride: sizes.width,
            c: self.scratch.dh,
            c_stride: sizes.width,
            m: part.targets,
            n: sizes.width,
            k: sizes.vocab,
            start: FROM_ZERO,
        })?;
        let norm = NormPlace {
            dout: self.scratch.dh,
            hat: head.hat,
            inverse: head.inverse,
            gain: model.final_norm_start(),
            rows: part.targets,
            starts: part.target_starts,
        };
        self.norm(&norm, head.x)?;
        model.device.launch(&TakeRows {
            from: head.x,
            index: part.row_targets,
            rows: part.rows.count,
            width: sizes.width,
            out: x,
        })
    }

    /// One layer: `dx` holds the gradient of the residual stream behind it and receives that in front of it.
    pub(super) fn layer(&self, layer: u32, dx: Address, at: &LayerAt) -> Result<(), DeviceError> {
        self.feed_forward(layer, dx, at)?;
        self.attention(layer, dx, at)
    }

    fn feed_forward(&self, layer: u32, dx: Address, at: &LayerAt) -> Result<(), DeviceError> {
        let sizes = &self.forward.model.sizes;
        let (rows, hidden) = (self.part.rows.count, sizes.hidden);
        let dout = Side::whole(dx, sizes.width);
        self.sum(layer, LayerTensor::Down, Side::whole(at.act, hidden), dout)?;
        self.turned(layer, LayerTensor::Down, dout, Side::whole(self.scratch.dact, hidden), FROM_ZERO)?;
        let gated = GatedBackward { dact: self.scratch.dact, gate_up: at.gate_up, rows, hidden };
        self.forward.model.device.launch(&gated)?;

        let dh = Side::whole(self.scratch.dh, sizes.width);
        let half = |offset: u32| Side {
            at: at.gate_up.floats(offset as usize),
            stride: 2 * hidden,
            columns: hidden,
        };
        let parts = [(LayerTensor::Gate, half(0), FROM_ZERO), (LayerTensor::Up, half(hidden), FROM_OUTPUT)];
        for (tensor, gradient, start) in parts {
            self.sum(layer, tensor, Side::whole(at.h2, sizes.width), gradient)?;
            self.turned(layer, tensor, gradient, dh, start)?;
        }
        self.layer_norm(layer, LayerTensor::FeedForwardNorm, (at.hat2, at.inverse2), dx)
    }

    fn attention(&self, layer: u32, dx: Address, at: &LayerAt) -> Result<(), DeviceError> {
        let sizes = &self.forward.model.sizes;
        let dout = Side::whole(dx, sizes.width);
        self.sum(layer, LayerTensor::Output, Side::whole(at.context, sizes.query), dout)?;
        let dcontext = Side::whole(self.scratch.dcontext, sizes.query);
        self.turned(layer, LayerTensor::Output, dout, dcontext, FROM_ZERO)?;
        self.attend(at)?;
        self.rotate(layer, at)?;

        let dh = Side::whole(self.scratch.dh, sizes.width);
        let part = |offset: u32, columns: u32| Side {
            at: at.qkv.floats(offset as usize),
            stride: sizes.qkv,
            columns,
        };
        let parts = [
            (LayerTensor::Query, part(0, sizes.query), FROM_ZERO),
            (LayerTensor::Key, part(sizes.query, sizes.kv), FROM_OUTPUT),
            (LayerTensor::Value, part(sizes.heads, sizes.kv), FROM_OUTPUT),
        ];
        for (tensor, gradient, start) in parts {
            self.sum(layer, tensor, Side::whole(at.h1, sizes.width), gradient)?;
            self.turned(layer, tensor, gradient, dh, start)?;
        }
        self.layer_norm(layer, LayerTensor::AttentionNorm, (at.hat1, at.inverse1), dx)
    }

    /// From the gradient of attention's result to those of rotated heads and of values, the latter in the values' place.
    fn attend(&self, at: &LayerAt) -> Result<(), DeviceError> {
        let (model, rows, scratch) = (self.forward.model, &self.part.rows, &self.scratch);
        let sizes = &model.sizes;
        let values = at.qkv.floats(sizes.heads as usize);
        model.device.launch(&AttendBackward {
            heads: at.heads,
            values,
            values_stride: sizes.qkv,
            out: at.context,
            stats: at.stats,
            dout: scratch.dcontext,
            positions: rows.positions,
            rows: rows.count,
            queries: sizes.queries,
            keys: sizes.keys,
            head_dim: sizes.head_dim,
            scale: model.scale,
            longest: rows.longest,
            weights: scratch.weights,
            dscores: scratch.dscores,
            dheads: scratch.dheads,
        })?;
        model.device.launch(&AttendBackwardKeys {
            heads: at.heads,
            dout: scratch.dcontext,
            weights: scratch.weights,
            dscores: scratch.dscores,
            positions: rows.positions,
            ends: self.part.ends,
            rows: rows.count,
            queries: sizes.queries,
            keys: sizes.keys,
            head_dim: sizes.head_dim,
            longest: rows.longest,
            dheads: scratch.dheads,
            dvalues: values,
            dvalues_stride: sizes.qkv,
        })
    }

    /// Through rotation and norm of queries and keys, into the heads' part of `qkv`; the gains' gradients.
    fn rotate(&self, layer: u32, at: &LayerAt) -> Result<(), DeviceError> {
        let (model, rows, scratch) = (self.forward.model, &self.part.rows, &self.scratch);
        let sizes = &model.sizes;
        model.device.launch(&RotateBackward {
            dheads: scratch.dheads,
            hat: at.hat_heads,
            inverse: at.inverse_heads,
            query_gain: model.layer(layer, LayerTensor::QueryNorm),
            key_gain: model.layer(layer, LayerTensor::KeyNorm),
            table: model.rope.address(),
            positions: rows.positions,
            rows: rows.count,
            queries: sizes.queries,
            keys: sizes.keys,
            head_dim: sizes.head_dim,
            dx: at.qkv,
            stride: sizes.qkv,
        })?;
        let gains =
            [(LayerTensor::QueryNorm, 0, sizes.queries), (LayerTensor::KeyNorm, sizes.queries, sizes.keys)];
        for (tensor, first, count) in gains {
            model.device.launch(&HeadGain {
                dheads: scratch.dheads,
                hat: at.hat_heads,
                starts: self.part.starts,
                sequences: self.part.sequences,
                heads: sizes.queries + sizes.keys,
                first,
                count,
                head_dim: sizes.head_dim,
                parts: scratch.gains,
                parts_stride: scratch.gains_stride,
            })?;
            self.gain_sum(model.layer_start(layer, tensor), sizes.head_dim)?;
        }
        Ok(())
    }

    /// The gradients of the tables' rows from that of their sum.
    pub(super) fn embed(&self, dx: Address) -> Result<(), DeviceError> {
        let model = self.forward.model;
        let sizes = &model.sizes;
        for (distance, &(starts, order)) in self.part.lookups.iter().enumerate() {
            let table = distance * (sizes.vocab * sizes.width) as usize;
            let out = if distance == 0 { self.lookup } else { self.gradients.floats(table) };
            let (vocab, width) = (sizes.vocab, sizes.width);
            model.device.launch(&EmbedGradient { starts, order, dx, vocab, width, out })?;
        }
        Ok(())
    }

    fn layer_norm(
        &self,
        layer: u32,
        tensor: LayerTensor,
        (hat, inverse): (Address, Address),
        dx: Address,
    ) -> Result<(), DeviceError> {
        let norm = NormPlace {
            dout: self.scratch.dh,
            hat,
            inverse,
            gain: self.forward.model.layer_start(layer, tensor),
            rows: self.part.rows.count,
            starts: self.part.starts,
        };
        self.norm(&norm, dx)
    }

    /// Through a norm: its gain's gradient, and its input's, which is added to `dx`.
    fn norm(&self, norm: &NormPlace, dx: Address) -> Result<(), DeviceError> {
        let model = self.forward.model;
        let width = model.sizes.width;
        model.device.launch(&NormGain {
            dout: norm.dout,
            hat: norm.hat,
            starts: norm.starts,
            sequences: self.part.sequences,
            width,
            parts: self.scratch.gains,
            parts_stride: self.scratch.gains_stride,
        })?;
        self.gain_sum(norm.gain, width)?;
        model.device.launch(&NormBackward {
            dout: norm.dout,
            hat: norm.hat,
            inverse: norm.inverse,
            gain: model.values.place(norm.gain),
            rows: norm.rows,
            width,
            dx,
        })
    }

    fn gain_sum(&self, gain: usize, width: u32) -> Result<(), DeviceError> {
        self.forward.model.device.launch(&GainSum {
            parts: self.scratch.gains,
            parts_stride: self.scratch.gains_stride,
            sequences: self.part.sequences,
            width,
            out: self.gradients.floats(gain),
        })
    }

    /// Continues a matrix's gradient: activations turned, times gradients.
    fn sum(&self, layer: u32, tensor: LayerTensor, left: Side, right: Side) -> Result<(), DeviceError> {
        let start = self.forward.model.layer_start(layer, tensor);
        self.sum_product(start, self.part.rows.count, left, right)
    }

    fn sum_product(&self, start: usize, rows: u32, left: Side, right: Side) -> Result<(), DeviceError> {
        self.forward.model.device.launch(&GemmTn {
            a: left.at,
            a_stride: left.stride,
            b: right.at,
            b_stride: right.stride,
            c: self.gradients.floats(start),
            c_stride: right.columns,
            m: left.columns,
            n: right.columns,
            k: rows,
            start: FROM_OUTPUT,
        })
    }

    /// Gradients times a matrix turned.
    fn turned(
        &self,
        layer: u32,
        tensor: LayerTensor,
        from: Side,
        to: Side,
        start: u32,
    ) -> Result<(), DeviceError> {
        let model = self.forward.model;
        model.device.launch(&GemmNt {
            a: from.at,
            a_stride: from.stride,
            b: model.layer(layer, tensor),
            b_stride: from.columns,
            c: to.at,
            c_stride: to.stride,
            m: self.part.rows.count,
            n: to.columns,
            k: from.columns,
            start,
        })
    }
}

/// A norm on the way back.
struct NormPlace {
    dout: Address,
    hat: Address,
    inverse: Address,
    /// Where its gain begins among all weights.
    gain: usize,
    rows: u32,
    /// The first row of each sequence.
    starts: Address,
}
