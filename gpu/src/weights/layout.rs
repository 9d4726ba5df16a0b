//! Which tensors a shape has, in which order.

use crate::shape::ModelShape;

/// What a tensor is for, as optimisers tell tensors apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A table with one row a token.
    Embedding,
    /// A matrix `[in, out]`.
    Matrix,
    /// A gain a channel.
    Norm,
}

/// Name, dimensions and role of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSpec {
    /// The name, as in Qwen3 checkpoints where there is one.
    pub name: String,
    /// Rows: tokens of a table, inputs of a matrix, 1 for a gain.
    pub rows: usize,
    /// Columns: outputs or channels.
    pub cols: usize,
    /// What it is for.
    pub role: Role,
}

impl TensorSpec {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// Whether there is no value; never so for a tensor of a valid shape.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The tensors of a layer, in canonical order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LayerTensor {
    AttentionNorm,
    Query,
    Key,
    Value,
    QueryNorm,
    KeyNorm,
    Output,
    FeedForwardNorm,
    Gate,
    Up,
    Down,
}

/// How many tensors a layer has.
const PER_LAYER: usize = 11;
/// Place of the token embedding; the look-up tables follow it.
pub(super) const EMBEDDING: usize = 0;

/// Place of a layer's tensor in the canonical order.
pub(crate) fn layer_index(shape: &ModelShape, layer: usize, tensor: LayerTensor) -> usize {
    1 + shape.ngram as usize + layer * PER_LAYER + tensor as usize
}

/// Place of the gain of the last norm.
pub(crate) fn final_norm_index(shape: &ModelShape) -> usize {
    1 + shape.ngram as usize + shape.layers as usize * PER_LAYER
}

/// All tensors of a valid shape, in canonical order.
pub(super) fn specs(shape: &ModelShape) -> Vec<TensorSpec> {
    let (vocab, width, hidden) = (shape.vocab as usize, shape.width as usize, shape.hidden as usize);
    let (query, kv, head) = (shape.query_width(), shape.kv_width(), shape.head_dim as usize);
    let spec = |name: String, rows, cols, role| TensorSpec { name, rows, cols, role };
    let mut specs = vec![spec("model.embed_tokens.weight".to_owned(), vocab, width, Role::Embedding)];
    for distance in 1..=shape.ngram {
        specs.push(spec(format!("model.embed_previous.{distance}.weight"), vocab, width, Role::Embedding));
    }
    for layer in 0..shape.layers {
        let rows: [(&str, usize, usize, Role); PER_LAYER] = [
            ("input_layernorm", 1, width, Role::Norm),
            ("self_attn.q_proj", width, query, Role::Matrix),
            ("self_attn.k_proj", width, kv, Role::Matrix),
            ("self_attn.v_proj", width, kv, Role::Matrix),
            ("self_attn.q_norm", 1, head, Role::Norm),
            ("self_attn.k_norm", 1, head, Role::Norm),
            ("self_attn.o_proj", query, width, Role::Matrix),
            ("post_attention_layernorm", 1, width, Role::Norm),
            ("mlp.gate_proj", width, hidden, Role::Matrix),
            ("mlp.up_proj", width, hidden, Role::Matrix),
            ("mlp.down_proj", hidden, width, Role::Matrix),
        ];
        for (name, rows, cols, role) in rows {
            specs.push(spec(format!("model.layers.{layer}.{name}.weight"), rows, cols, role));
        }
    }
    specs.push(spec("model.norm.weight".to_owned(), 1, width, Role::Norm));
    specs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::tests::TINY;

    #[test]
    fn the_layout_has_as_many_values_as_the_shape_has_parameters() {
        let specs = specs(&TINY);
        assert_eq!(specs.iter().map(TensorSpec::len).sum::<usize>() as u64, TINY.parameters());
        assert_eq!(
            specs[layer_index(&TINY, 1, LayerTensor::Down)].name,
            "model.layers.1.mlp.down_proj.weight"
        );
        assert_eq!(specs[final_norm_index(&TINY)].name, "model.norm.weight");
        assert_eq!(final_norm_index(&TINY) + 1, specs.len());
    }
}
