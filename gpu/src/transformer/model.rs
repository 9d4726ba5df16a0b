//! Weights made ready for products.

use super::rope::Rope;
use super::rotate::{HeadGains, Heads};
use crate::gemm::Packed;
use crate::shape::ModelShape;
use crate::vector::Isa;
use crate::weights::{LayerTensor, Weights};

/// A policy's weights, packed for the forward pass and, for trainers, for the backward pass.
pub(crate) struct Model {
    pub(crate) weights: Weights,
    pub(crate) isa: Isa,
    pub(super) heads: Heads,
    /// `1 / sqrt(head_dim)`.
    pub(super) scale: f32,
    pub(super) rope: Rope,
    forward: Packs,
    backward: Option<Packs>,
}

/// The factors of all products, layer by layer.
struct Packs {
    layers: Vec<LayerPacks>,
    head: Packed,
}

/// The factors of a layer's products: `[in, out]` for the forward pass, `[out, in]` for the backward pass.
pub(super) struct LayerPacks {
    pub(super) qkv: Packed,
    pub(super) output: Packed,
    pub(super) gate_up: Packed,
    pub(super) down: Packed,
}

/// Whether a model can go backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Forward only.
    Inference,
    /// Forward and backward.
    Training,
}

impl Model {
    /// Packs weights of a valid shape.
    pub(crate) fn new(weights: Weights, isa: Isa, purpose: Purpose) -> Self {
        let shape = *weights.shape();
        let backward = match purpose {
            Purpose::Inference => None,
            Purpose::Training => Some(backward_packs(&weights)),
        };
        Self {
            isa,
            heads: Heads {
                queries: shape.heads as usize,
                keys: shape.kv_heads as usize,
                head_dim: shape.head_dim as usize,
            },
            scale: 1.0 / (shape.head_dim as f32).sqrt(),
            rope: Rope::new(&shape),
            forward: forward_packs(&weights),
            backward,
            weights,
        }
    }

    /// Packs the weights again after they have changed.
    pub(crate) fn repack(&mut self) {
        self.forward = forward_packs(&self.weights);
        if self.backward.is_some() {
            self.backward = Some(backward_packs(&self.weights));
        }
    }

    pub(crate) fn shape(&self) -> &ModelShape {
        self.weights.shape()
    }

    pub(super) fn forward(&self, layer: usize) -> &LayerPacks {
        &self.forward.layers[layer]
    }

    /// The embedding as the last product's factor, `[width, vocab]`.
    pub(super) fn forward_head(&self) -> &Packed {
        &self.forward.head
    }

    /// A layer's factors and the embedding `[vocab, width]`; none unless the model is for training.
    pub(super) fn backward(&self) -> Option<(&[LayerPacks], &Packed)> {
        self.backward.as_ref().map(|packs| (packs.layers.as_slice(), &packs.head))
    }

    pub(super) fn head_gains(&self, layer: usize) -> HeadGains<'_> {
        HeadGains {
            query: self.weights.layer(layer, LayerTensor::QueryNorm),
            key: self.weights.layer(layer, LayerTensor::KeyNorm),
        }
    }
}

fn forward_packs(weights: &Weights) -> Packs {
    let shape = weights.shape();
    let (width, hidden) = (shape.width as usize, shape.hidden as usize);
    let pack = |layer: usize| {
        let of = |tensor| weights.layer(layer, tensor);
        LayerPacks {
            qkv: Packed::from_rows(
                width,
                &[of(LayerTensor::Query), of(LayerTensor::Key), of(LayerTensor::Value)],
            ),
            output: Packed::from_rows(shape.query_width(), &[of(LayerTensor::Output)]),
            gate_up: Packed::from_rows(width, &[of(LayerTensor::Gate), of(LayerTensor::Up)]),
            down: Packed::from_rows(hidden, &[of(LayerTensor::Down)]),
        }
    };
    let head = Packed::from_columns(shape.vocab as usize, &[weights.embedding()]);
    Packs { layers: (0..shape.layers as usize).map(pack).collect(), head }
}

fn backward_packs(weights: &Weights) -> Packs {
    let shape = weights.shape();
    let (width, hidden) = (shape.width as usize, shape.hidden as usize);
    let pack = |layer: usize| {
        let of = |tensor| weights.layer(layer, tensor);
        LayerPacks {
            qkv: Packed::from_columns(
                width,
                &[of(LayerTensor::Query), of(LayerTensor::Key), of(LayerTensor::Value)],
            ),
            output: Packed::from_columns(shape.query_width(), &[of(LayerTensor::Output)]),
            gate_up: Packed::from_columns(width, &[of(LayerTensor::Gate), of(LayerTensor::Up)]),
            down: Packed::from_columns(hidden, &[of(LayerTensor::Down)]),
        }
    };
    let head = Packed::from_rows(shape.vocab as usize, &[weights.embedding()]);
    Packs { layers: (0..shape.layers as usize).map(pack).collect(), head }
}
