//! The backward pass of a micro-batch, and the gradients of weights that it leaves: the processor's, launch by launch.
//!
//! A matrix's gradient continues its chain from micro-batch to micro-batch, over the rows of all sequences in their order.
//! Where the processor multiplies by several matrices at once, here several launches continue one chain.

mod attention;
mod norm;
mod product;

use super::error::DeviceError;
use super::forward::{FROM_OUTPUT, FROM_ZERO, Forward, HeadAt};
use super::layer::LayerAt;
use super::plan::PartAt;
use super::scratch::ScratchAt;
use crate::kernels::{Address, EmbedGradient, GatedBackward, GemmNn, TakeRows};
use crate::weights::LayerTensor;
use norm::NormPlace;
use product::Side;

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
}
