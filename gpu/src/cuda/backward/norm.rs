//! Back through norms, and the gradients of their gains.

use super::Backward;
use crate::cuda::error::DeviceError;
use crate::kernels::{Address, GainSum, NormBackward, NormGain};
use crate::weights::LayerTensor;

/// A norm on the way back.
pub(super) struct NormPlace {
    pub(super) dout: Address,
    pub(super) hat: Address,
    pub(super) inverse: Address,
    /// Where its gain begins among all weights.
    pub(super) gain: usize,
    pub(super) rows: u32,
    /// The first row of each sequence.
    pub(super) starts: Address,
}

impl Backward<'_> {
    /// Through a norm of a layer, of all rows.
    pub(super) fn layer_norm(
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
    pub(super) fn norm(&self, norm: &NormPlace, dx: Address) -> Result<(), DeviceError> {
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

    pub(super) fn gain_sum(&self, gain: usize, width: u32) -> Result<(), DeviceError> {
        self.forward.model.device.launch(&GainSum {
            parts: self.scratch.gains,
            parts_stride: self.scratch.gains_stride,
            sequences: self.part.sequences,
            width,
            out: self.gradients.floats(gain),
        })
    }
}
