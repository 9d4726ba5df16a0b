//! Checkpoints in half the size, encoded and decoded on the device.

use half::bf16;

use super::CudaBackend;
use super::buffer::Buffer;
use super::error::DeviceError;
use crate::kernels::{FromBf16, ToBf16};

impl CudaBackend {
    /// Values as bf16: rounded to nearest, ties to even.
    pub fn to_bf16(&self, values: &[f32]) -> Result<Vec<bf16>, DeviceError> {
        let device = &self.device;
        let from = Buffer::of(device, "a checkpoint", values)?;
        let to: Buffer<u16> = Buffer::new(device, "a checkpoint", values.len())?;
        let (values, count, out) = (from.address(), values.len() as u64, to.address());
        device.launch(&ToBf16 { values, count, out })?;
        let mut bits = vec![0; count as usize];
        to.read(device, &mut bits)?;
        Ok(bits.into_iter().map(bf16::from_bits).collect())
    }

    /// The values that bf16 numbers stand for, exactly.
    pub fn from_bf16(&self, values: &[bf16]) -> Result<Vec<f32>, DeviceError> {
        let device = &self.device;
        let bits: Vec<u16> = values.iter().map(|value| value.to_bits()).collect();
        let from = Buffer::of(device, "a checkpoint", &bits)?;
        let to: Buffer<f32> = Buffer::new(device, "a checkpoint", values.len())?;
        let (count, out) = (values.len() as u64, to.address());
        device.launch(&FromBf16 { values: from.address(), count, out })?;
        let mut values = vec![0.0; count as usize];
        to.read(device, &mut values)?;
        Ok(values)
    }
}
