//! A policy's weights on the device.

use std::sync::Arc;

use super::buffer::Buffer;
use super::device::Device;
use super::error::DeviceError;
use crate::kernels::{Address, RopeTable};
use crate::shape::ModelShape;
use crate::transformer::rope::frequencies;
use crate::weights::{LayerTensor, TensorSpec, Weights, final_norm_index, layer_index};

/// Weights in canonical order, and what follows from their shape.
pub(super) struct DeviceModel {
    pub(super) device: Arc<Device>,
    pub(super) shape: ModelShape,
    pub(super) sizes: Sizes,
    pub(super) starts: Vec<usize>,
    pub(super) values: Buffer<f32>,
    /// Cosines and sines of every position.
    pub(super) rope: Buffer<f32>,
    /// `1 / sqrt(head_dim)`.
    pub(super) scale: f32,
}

/// The sizes of a shape as kernels take them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) vocab: u32,
    pub(super) width: u32,
    pub(super) hidden: u32,
    pub(super) layers: u32,
    /// Query heads.
    pub(super) queries: u32,
    /// Key-value heads.
    pub(super) keys: u32,
    pub(super) head_dim: u32,
    /// Channels of all query heads.
    pub(super) query: u32,
    /// Channels of all key heads.
    pub(super) kv: u32,
    /// Channels of query and key heads.
    pub(super) heads: u32,
    /// Channels of query, key and value heads.
    pub(super) qkv: u32,
}

impl Sizes {
    fn new(shape: &ModelShape) -> Self {
        let (query, kv) = (shape.query_width() as u32, shape.kv_width() as u32);
        Self {
            vocab: shape.vocab,
            width: shape.width,
            hidden: shape.hidden,
            layers: shape.layers,
            queries: shape.heads,
            keys: shape.kv_heads,
            head_dim: shape.head_dim,
            query,
            kv,
            heads: query + kv,
            qkv: query + 2 * kv,
        }
    }
}

impl DeviceModel {
    /// Copies weights to the device.
    pub(super) fn new(device: &Arc<Device>, weights: &Weights) -> Result<Self, DeviceError> {
        let shape = *weights.shape();
        let values = Buffer::of(device, "weights", weights.values())?;
        let starts = weights.specs().iter().scan(0, |next, spec: &TensorSpec| {
            let start = *next;
            *next += spec.len();
            Some(start)
        });
        let frequencies = Buffer::of(device, "rotary frequencies", &frequencies(&shape))?;
        let rope = Buffer::new(device, "rotary table", (shape.context * shape.head_dim) as usize)?;
        device.launch(&RopeTable {
            frequencies: frequencies.address(),
            context: shape.context,
            half: shape.head_dim / 2,
            table: rope.address(),
        })?;
        Ok(Self {
            device: Arc::clone(device),
            shape,
            sizes: Sizes::new(&shape),
            starts: starts.collect(),
            values,
            rope,
            scale: 1.0 / (shape.head_dim as f32).sqrt(),
        })
    }

    /// Copies other weights of the same shape to the device.
    pub(super) fn replace(&mut self, weights: &Weights) -> Result<(), DeviceError> {
        self.values.write(&self.device, weights.values())
    }

    /// Copies the weights back.
    pub(super) fn download(&self, into: &mut Weights) -> Result<(), DeviceError> {
        self.values.read(&self.device, into.values_mut())
    }

    /// Where a tensor of a layer begins in the canonical order.
    pub(super) fn layer_start(&self, layer: u32, tensor: LayerTensor) -> usize {
        self.starts[layer_index(&self.shape, layer as usize, tensor)]
    }

    /// Where the gain of the last norm begins in the canonical order.
    pub(super) fn final_norm_start(&self) -> usize {
        self.starts[final_norm_index(&self.shape)]
    }

    /// A tensor of a layer.
    pub(super) fn layer(&self, layer: u32, tensor: LayerTensor) -> Address {
        self.values.place(self.layer_start(layer, tensor))
    }

    /// The token embedding, and behind it the look-up tables of previous tokens.
    pub(super) fn embedding(&self) -> Address {
        self.values.address()
    }

    /// The gain of the last norm.
    pub(super) fn final_norm(&self) -> Address {
        self.values.place(self.final_norm_start())
    }
}
