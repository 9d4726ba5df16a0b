//! The weights of a policy: named tensors in one canonical order.
//!
//! All values live in one flat vector, tensor after tensor, each row by row. Matrices are stored `[in, out]`: a row
//! of activations times a matrix is a row of outputs.

mod canonical;
mod init;
mod layout;
mod tensors;

use crate::shape::{ModelShape, ShapeError};
use thiserror::Error;

pub use init::Initial;
#[cfg(test)]
pub(crate) use init::tests::words as test_words;
pub(crate) use layout::{LayerTensor, final_norm_index, layer_index};
pub use layout::{Role, TensorSpec};
pub use tensors::Precision;

/// Why weights are refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WeightsError {
    /// The shape is not one that is supported.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A value is infinite or not a number.
    #[error("{tensor}[{index}] is not a finite number")]
    NotFinite {
        /// Name of the tensor.
        tensor: String,
        /// Index of the value within it, row by row.
        index: usize,
    },
    /// Bytes that are not canonical weights.
    #[error("not canonical weights: {0}")]
    Canonical(&'static str),
    /// The safetensors file is malformed.
    #[error("not a safetensors file of this kind: {0}")]
    File(String),
    /// A tensor is absent.
    #[error("tensor {0} is missing")]
    Missing(String),
    /// A tensor that the shape does not have.
    #[error("tensor {0} does not belong to this shape")]
    Unexpected(String),
    /// A tensor has other dimensions than the shape says.
    #[error("tensor {name} has dimensions {found:?} instead of {expected:?}")]
    Dimensions {
        /// Name of the tensor.
        name: String,
        /// Dimensions in the file.
        found: Vec<usize>,
        /// Dimensions that the shape gives.
        expected: Vec<usize>,
    },
}

/// One tensor of [`Weights`], to read.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    /// Name, dimensions and role.
    pub spec: &'a TensorSpec,
    /// The values, row by row.
    pub values: &'a [f32],
}

/// One tensor of [`Weights`], to write.
#[derive(Debug)]
pub struct TensorMut<'a> {
    /// Name, dimensions and role.
    pub spec: &'a TensorSpec,
    /// The values, row by row.
    pub values: &'a mut [f32],
}

/// The weights of a policy, or one number for each of them (gradients, moments).
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    shape: ModelShape,
    specs: Vec<TensorSpec>,
    values: Vec<f32>,
}

impl Weights {
    /// All zeros.
    pub fn zeros(shape: &ModelShape) -> Result<Self, WeightsError> {
        shape.validate()?;
        let specs = layout::specs(shape);
        let values = vec![0.0; specs.iter().map(TensorSpec::len).sum()];
        Ok(Self { shape: *shape, specs, values })
    }

    /// Weights with these values, in canonical order.
    pub fn from_values(shape: &ModelShape, values: Vec<f32>) -> Result<Self, WeightsError> {
        shape.validate()?;
        let specs = layout::specs(shape);
        if values.len() != specs.iter().map(TensorSpec::len).sum::<usize>() {
            return Err(WeightsError::Canonical("the number of values is not that of the shape"));
        }
        Ok(Self { shape: *shape, specs, values })
    }

    /// The shape.
    pub fn shape(&self) -> &ModelShape {
        &self.shape
    }

    /// Name, dimensions and role of each tensor, in canonical order.
    pub fn specs(&self) -> &[TensorSpec] {
        &self.specs
    }

    /// All values, in canonical order.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All values, in canonical order, to write.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// The tensors, in canonical order.
    pub fn tensors(&self) -> Vec<Tensor<'_>> {
        let mut rest = self.values.as_slice();
        let mut tensors = Vec::with_capacity(self.specs.len());
        for spec in &self.specs {
            let (values, behind) = rest.split_at(spec.len());
            rest = behind;
            tensors.push(Tensor { spec, values });
        }
        tensors
    }

    /// The tensors, in canonical order, to write; the slices are disjoint.
    pub fn tensors_mut(&mut self) -> Vec<TensorMut<'_>> {
        let mut rest = self.values.as_mut_slice();
        let mut tensors = Vec::with_capacity(self.specs.len());
        for spec in &self.specs {
            let (values, behind) = rest.split_at_mut(spec.len());
            rest = behind;
            tensors.push(TensorMut { spec, values });
        }
        tensors
    }

    /// Refuses infinities and NaN, naming the first.
    pub fn check_finite(&self) -> Result<(), WeightsError> {
        for tensor in self.tensors() {
            if let Some(index) = tensor.values.iter().position(|value| !value.is_finite()) {
                return Err(WeightsError::NotFinite { tensor: tensor.spec.name.clone(), index });
            }
        }
        Ok(())
    }

    /// The values of one tensor by its place in the canonical order.
    pub(crate) fn at(&self, index: usize) -> &[f32] {
        let start: usize = self.specs[..index].iter().map(TensorSpec::len).sum();
        &self.values[start..start + self.specs[index].len()]
    }

    /// The token embedding, `[vocab, width]`.
    pub(crate) fn embedding(&self) -> &[f32] {
        self.at(layout::EMBEDDING)
    }

    /// The look-up table of the token `distance` (1 or 2) back, `[vocab, width]`.
    pub(crate) fn previous(&self, distance: usize) -> &[f32] {
        self.at(layout::EMBEDDING + distance)
    }

    /// One tensor of one layer.
    pub(crate) fn layer(&self, layer: usize, tensor: LayerTensor) -> &[f32] {
        self.at(layer_index(&self.shape, layer, tensor))
    }

    /// The gain of the last norm, `[width]`.
    pub(crate) fn final_norm(&self) -> &[f32] {
        self.at(final_norm_index(&self.shape))
    }
}
