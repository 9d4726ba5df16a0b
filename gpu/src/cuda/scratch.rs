//! Memory that the backward pass uses again and again.

use super::buffer::Room;
use super::error::DeviceError;
use super::model::DeviceModel;
use super::plan::PartAt;
use crate::kernels::Address;

/// Memory of the backward pass; it only grows.
pub(super) struct ScratchRoom {
    dh: Room<f32>,
    dact: Room<f32>,
    dcontext: Room<f32>,
    dheads: Room<f32>,
    weights: Room<f32>,
    dscores: Room<f32>,
    gains: Room<f32>,
}

/// Where that memory is.
#[derive(Clone, Copy)]
pub(super) struct ScratchAt {
    /// `[rows, width]`.
    pub(super) dh: Address,
    /// `[rows, hidden]`.
    pub(super) dact: Address,
    /// `[rows, query]`.
    pub(super) dcontext: Address,
    /// `[rows, query + key]`.
    pub(super) dheads: Address,
    /// `[rows, query heads, longest]` each.
    pub(super) weights: Address,
    pub(super) dscores: Address,
    /// `[sequences, gains_stride]`.
    pub(super) gains: Address,
    pub(super) gains_stride: u32,
}

impl ScratchRoom {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        let room = || Room::new("gradients of activations");
        Self {
            dh: room(),
            dact: room(),
            dcontext: room(),
            dheads: room(),
            weights: Room::new("weights of attention"),
            dscores: Room::new("gradients of scores"),
            gains: room(),
        }
    }

    /// Room for a micro-batch.
    pub(super) fn at(&mut self, model: &DeviceModel, part: &PartAt) -> Result<ScratchAt, DeviceError> {
        let (device, sizes) = (&model.device, &model.sizes);
        let rows = part.rows.count as usize;
        let gains_stride = sizes.width.max(sizes.head_dim);
        let scores = rows * sizes.queries as usize * part.rows.longest as usize;
        Ok(ScratchAt {
            dh: self.dh.address(device, rows * sizes.width as usize)?,
            dact: self.dact.address(device, rows * sizes.hidden as usize)?,
            dcontext: self.dcontext.address(device, rows * sizes.query as usize)?,
            dheads: self.dheads.address(device, rows * sizes.heads as usize)?,
            weights: self.weights.address(device, scores)?,
            dscores: self.dscores.address(device, scores)?,
            gains: self.gains.address(device, part.sequences as usize * gains_stride as usize)?,
            gains_stride,
        })
    }
}
