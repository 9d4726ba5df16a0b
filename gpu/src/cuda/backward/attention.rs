//! Back through attention itself, and through rotation and norm of queries and keys.

use super::Backward;
use crate::cuda::error::DeviceError;
use crate::cuda::layer::LayerAt;
use crate::kernels::{AttendBackward, AttendBackwardKeys, HeadGain, RotateBackward};
use crate::weights::LayerTensor;

impl Backward<'_> {
    /// From the gradient of attention's result to those of rotated heads and of values, the latter in the values' place.
    pub(super) fn attend(&self, at: &LayerAt) -> Result<(), DeviceError> {
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
    pub(super) fn rotate(&self, layer: u32, at: &LayerAt) -> Result<(), DeviceError> {
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
}
