//! Products with matrices, and with gradients for matrices.

use super::Backward;
use crate::cuda::error::DeviceError;
use crate::cuda::forward::FROM_OUTPUT;
use crate::kernels::{Address, GemmNt, GemmTn};
use crate::weights::LayerTensor;

/// Rows with their stride.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub(super) at: Address,
    pub(super) stride: u32,
    pub(super) columns: u32,
}

impl Side {
    /// Rows that lie side by side.
    pub(super) fn whole(at: Address, columns: u32) -> Self {
        Self { at, stride: columns, columns }
    }
}

impl Backward<'_> {
    /// Continues a matrix's gradient: activations turned, times gradients.
    pub(super) fn sum(
        &self,
        layer: u32,
        tensor: LayerTensor,
        left: Side,
        right: Side,
    ) -> Result<(), DeviceError> {
        let start = self.forward.model.layer_start(layer, tensor);
        self.sum_product(start, self.part.rows.count, left, right)
    }

    pub(super) fn sum_product(
        &self,
        start: usize,
        rows: u32,
        left: Side,
        right: Side,
    ) -> Result<(), DeviceError> {
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
    pub(super) fn turned(
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
