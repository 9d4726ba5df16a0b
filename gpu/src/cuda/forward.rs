//! The forward pass over rows of any sequences: the processor's, launch by launch.

use super::batch::RowsAt;
use super::buffer::{Buffer, Room};
use super::cache::CacheAt;
use super::device::Device;
use super::error::DeviceError;
use super::faults::{NotesAt, Stage};
use super::layer::LayerAt;
use super::model::{DeviceModel, Sizes};
use crate::kernels::{Address, Attend, Embed, Gated, GemmNn, GemmNt, Norm, Remember, Rotate};
use crate::weights::LayerTensor;

/// Chains start at 0.
pub(super) const FROM_ZERO: u32 = 0;
/// Chains start at what stands in the output.
pub(super) const FROM_OUTPUT: u32 = 1;

/// A batch of rows on its way through the layers.
#[derive(Clone, Copy)]
pub(super) struct Forward<'a> {
    pub(super) model: &'a DeviceModel,
    pub(super) rows: RowsAt,
    pub(super) cache: CacheAt,
    /// Notes of these rows.
    pub(super) notes: NotesAt,
}

impl Forward<'_> {
    /// `x` receives the sum of the tables' rows.
    pub(super) fn embed(&self, x: Address) -> Result<(), DeviceError> {
        let sizes = &self.model.sizes;
        self.model.device.launch(&Embed {
            inputs: self.rows.inputs,
            tables: self.model.embedding(),
            vocab: sizes.vocab,
            ngram: self.model.shape.ngram,
            rows: self.rows.count,
            width: sizes.width,
            x,
        })
    }

    /// One layer: `x` is replaced by the residual stream behind the layer.
    pub(super) fn layer(&self, layer: u32, x: Address, at: &LayerAt) -> Result<(), DeviceError> {
        let sizes = &self.model.sizes;
        self.norm(x, layer, LayerTensor::AttentionNorm, at)?;
        let qkv = [(LayerTensor::Query, 0, sizes.query)]
            .into_iter()
            .chain([(LayerTensor::Key, sizes.query, sizes.kv), (LayerTensor::Value, sizes.heads, sizes.kv)]);
        for (tensor, offset, columns) in qkv {
            let out = (at.qkv.floats(offset as usize), sizes.qkv);
            self.times(layer, tensor, (at.h1, sizes.width), (out, columns), FROM_ZERO)?;
        }
        self.attend(layer, at)?;
        let out = ((x, sizes.width), sizes.width);
        self.times(layer, LayerTensor::Output, (at.context, sizes.query), out, FROM_OUTPUT)?;

        self.norm(x, layer, LayerTensor::FeedForwardNorm, at)?;
        for (tensor, offset) in [(LayerTensor::Gate, 0), (LayerTensor::Up, sizes.hidden)] {
            let out = (at.gate_up.floats(offset as usize), 2 * sizes.hidden);
            self.times(layer, tensor, (at.h2, sizes.width), (out, sizes.hidden), FROM_ZERO)?;
        }
        self.model.device.launch(&Gated {
            gate_up: at.gate_up,
            rows: self.rows.count,
            hidden: sizes.hidden,
            act: at.act,
        })?;
        let out = ((x, sizes.width), sizes.width);
        self.times(layer, LayerTensor::Down, (at.act, sizes.hidden), out, FROM_OUTPUT)
    }

    /// Rows of activations times a matrix; activations and results with their strides, results with their columns.
    fn times(
        &self,
        layer: u32,
        tensor: LayerTensor,
        (a, inner): (Address, u32),
        ((c, c_stride), columns): ((Address, u32), u32),
        start: u32,
    ) -> Result<(), DeviceError> {
        self.model.device.launch(&GemmNn {
            a,
            a_stride: inner,
            b: self.model.layer(layer, tensor),
            b_stride: columns,
            c,
            c_stride,
            m: self.rows.count,
            n: columns,
            k: inner,
            start,
        })
    }

    fn norm(&self, x: Address, layer: u32, tensor: LayerTensor, at: &LayerAt) -> Result<(), DeviceError> {
        let first = tensor == LayerTensor::AttentionNorm;
        let (hat, inverse, out, stage) = if first {
            (at.hat1, at.inverse1, at.h1, Stage::AttentionNorm(layer))
        } else {
            (at.hat2, at.inverse2, at.h2, Stage::FeedForwardNorm(layer))
        };
        self.model.device.launch(&Norm {
            x,
            gain: self.model.layer(layer, tensor),
            eps: self.model.shape.norm_eps,
            rows: self.rows.count,
            width: self.model.sizes.width,
            hat,
            inverse,
            out,
            faults: self.notes.rows,
            halt: self.notes.halt,
            code: stage.code(),
        })
    }

    /// Rotated heads, keys and values into the cache, and what the queries attend to.
    fn attend(&self, layer: u32, at: &LayerAt) -> Result<(), DeviceError> {
        let (model, rows, cache) = (self.model, &self.rows, &self.cache);
        let sizes = &model.sizes;
        let layer_offset = layer * cache.layer_stride;
        model.device.launch(&Rotate {
            x: at.qkv,
            stride: sizes.qkv,
            query_gain: model.layer(layer, LayerTensor::QueryNorm),
            key_gain: model.layer(layer, LayerTensor::KeyNorm),
            eps: model.shape.norm_eps,
            table: model.rope.address(),
            positions: rows.positions,
            rows: rows.count,
            queries: sizes.queries,
            keys: sizes.keys,
            head_dim: sizes.head_dim,
            hat: at.hat_heads,
            inverse: at.inverse_heads,
            out: at.heads,
            faults: self.notes.rows,
            halt: self.notes.halt,
            code: Stage::QueryKey(layer).code(),
        })?;
        model.device.launch(&Remember {
            heads: at.heads,
            values: at.qkv.floats(sizes.heads as usize),
            values_stride: sizes.qkv,
            positions: rows.positions,
            slots: rows.slots,
            tables: rows.tables,
            table_stride: rows.table_stride,
            rows: rows.count,
            queries: sizes.queries,
            keys: sizes.keys,
            head_dim: sizes.head_dim,
            cache: cache.address,
            page_stride: cache.page_stride,
            layer_offset,
        })?;
        model.device.launch(&Attend {
            heads: at.heads,
            cache: cache.address,
            page_stride: cache.page_stride,
            layer_offset,
            positions: rows.positions,
            slots: rows.slots,
            tables: rows.tables,
            table_stride: rows.table_stride,
            rows: rows.count,
            queries: sizes.queries,
            keys: sizes.keys,
            head_dim: sizes.head_dim,
            scale: model.scale,
            longest: rows.longest,
            out: at.context,
            stats: at.stats,
            faults: self.notes.rows,
            halt: self.notes.halt,
            code: Stage::Attention(layer).code(),
        })
    }
}

/// The last norm and the logits of rows that were taken out of the residual stream.
#[derive(Clone, Copy)]
pub(super) struct Head<'a> {
    pub(super) model: &'a DeviceModel,
    pub(super) rows: u32,
    pub(super) at: HeadAt,
    /// Notes of these rows.
    pub(super) notes: NotesAt,
}

/// Where the head's activations are.
#[derive(Clone, Copy)]
pub(super) struct HeadAt {
    /// `[rows, width]` each.
    pub(super) x: Address,
    pub(super) hat: Address,
    pub(super) h: Address,
    /// `[rows]`.
    pub(super) inverse: Address,
    /// `[rows, vocab]`.
    pub(super) logits: Address,
}

impl Head<'_> {
    /// Computes the logits.
    pub(super) fn run(&self) -> Result<(), DeviceError> {
        let (model, at) = (self.model, &self.at);
        let sizes = &model.sizes;
        model.device.launch(&Norm {
            x: at.x,
            gain: model.final_norm(),
            eps: model.shape.norm_eps,
            rows: self.rows,
            width: sizes.width,
            hat: at.hat,
            inverse: at.inverse,
            out: at.h,
            faults: self.notes.rows,
            halt: self.notes.halt,
            code: Stage::FinalNorm.code(),
        })?;
        model.device.launch(&GemmNt {
            a: at.h,
            a_stride: sizes.width,
            b: model.embedding(),
            b_stride: sizes.width,
            c: at.logits,
            c_stride: sizes.vocab,
            m: self.rows,
            n: sizes.vocab,
            k: sizes.width,
            start: FROM_ZERO,
        })
    }
}

/// Memory of the head; it only grows.
pub(super) struct HeadRoom {
    x: Room<f32>,
    hat: Room<f32>,
    h: Room<f32>,
    inverse: Room<f32>,
    logits: Room<f32>,
}

impl HeadRoom {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        let room = || Room::new("activations of the head");
        Self { x: room(), hat: room(), h: room(), inverse: room(), logits: Room::new("logits") }
    }

    /// Room for this many rows.
    pub(super) fn at(&mut self, device: &Device, sizes: &Sizes, rows: usize) -> Result<HeadAt, DeviceError> {
        let wide = rows * sizes.width as usize;
        Ok(HeadAt {
            x: self.x.address(device, wide)?,
            hat: self.hat.address(device, wide)?,
            h: self.h.address(device, wide)?,
            inverse: self.inverse.address(device, rows)?,
            logits: self.logits.address(device, rows * sizes.vocab as usize)?,
        })
    }

    /// The logits of the first rows.
    pub(super) fn read_logits(&mut self, device: &Device, into: &mut [f32]) -> Result<(), DeviceError> {
        self.logits.at_least(device, into.len())?.read(device, into)
    }

    /// The rows' inputs as a buffer.
    pub(super) fn x(&mut self, device: &Device, len: usize) -> Result<&mut Buffer<f32>, DeviceError> {
        self.x.at_least(device, len)
    }
}
