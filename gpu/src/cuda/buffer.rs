//! Memory on the device.
#![expect(
    unsafe_code,
    reason = "fresh device memory is uninitialised, and copies within it are calls of the driver"
)]

use cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr, result};

use super::device::Device;
use super::error::DeviceError;
use crate::kernels::Address;

/// Numbers on the device.
///
/// Work on the stream runs in the order in which it was handed over, and freeing waits its turn: a buffer may be dropped
/// while kernels that use it are still to run.
#[derive(Debug)]
pub(crate) struct Buffer<T> {
    slice: CudaSlice<T>,
    what: &'static str,
}

impl<T: DeviceRepr> Buffer<T> {
    /// Room for `len` numbers (at least one), which hold nothing yet. `what` says in errors what it is for.
    pub(crate) fn new(device: &Device, what: &'static str, len: usize) -> Result<Self, DeviceError> {
        let len = len.max(1);
        let failed = DeviceError::allocation(what, len * size_of::<T>());
        // SAFETY: nothing reads the memory but kernels and copies that come after others which wrote it. The stand-in
        // driver of the tests fills fresh memory with NaN, so that a comparison of bits finds a read that comes too early.
        let slice = unsafe { device.stream().alloc(len) }.map_err(failed)?;
        Ok(Self { slice, what })
    }

    /// A copy of these numbers.
    pub(crate) fn of(device: &Device, what: &'static str, values: &[T]) -> Result<Self, DeviceError> {
        let mut buffer = Self::new(device, what, values.len())?;
        buffer.write(device, values)?;
        Ok(buffer)
    }

    /// Copies numbers to the beginning of the buffer, which must have room.
    pub(crate) fn write(&mut self, device: &Device, values: &[T]) -> Result<(), DeviceError> {
        if values.is_empty() {
            return Ok(());
        }
        device.stream().memcpy_htod(values, &mut self.slice).map_err(DeviceError::driver(self.what))
    }

    /// Fills with zero bytes.
    pub(crate) fn clear(&mut self, device: &Device) -> Result<(), DeviceError> {
        let (address, _no_events) = self.slice.device_ptr(device.stream());
        let bytes = self.slice.num_bytes();
        // SAFETY: these are the bytes of this buffer.
        let cleared = unsafe { result::memset_d8_async(address, 0, bytes, device.stream().cu_stream()) };
        cleared.map_err(DeviceError::driver(self.what))
    }

    /// The first numbers of the buffer, as they are once everything handed over so far has run.
    pub(crate) fn read(&self, device: &Device, into: &mut [T]) -> Result<(), DeviceError> {
        if into.is_empty() {
            return Ok(());
        }
        let failed = DeviceError::driver(self.what);
        device.stream().memcpy_dtoh(&self.slice.slice(..into.len()), into).map_err(&failed)?;
        device.stream().synchronize().map_err(&failed)
    }

    /// Copies `count` numbers from place `from` of another buffer to place `to` of this one.
    pub(crate) fn take(
        &mut self,
        device: &Device,
        other: &Self,
        [from, to, count]: [usize; 3],
    ) -> Result<(), DeviceError> {
        assert!(from + count <= other.len() && to + count <= self.len(), "a copy stays within its buffers");
        let (source, target) = (other.address().offset(from, size_of::<T>()), self.place(to));
        // SAFETY: both parts lie within buffers that are there.
        unsafe { copy(device, source, target, count * size_of::<T>()) }
            .map_err(DeviceError::driver(self.what))
    }

    /// Copies `count` numbers from place `from` to place `to`, which do not overlap.
    pub(crate) fn copy_within(
        &mut self,
        device: &Device,
        [from, to, count]: [usize; 3],
    ) -> Result<(), DeviceError> {
        assert!(from.max(to) + count <= self.len() && from.abs_diff(to) >= count, "two parts of one buffer");
        // SAFETY: both parts lie within this buffer, apart from each other.
        unsafe { copy(device, self.place(from), self.place(to), count * size_of::<T>()) }
            .map_err(DeviceError::driver(self.what))
    }

    /// How many numbers.
    pub(crate) fn len(&self) -> usize {
        self.slice.len()
    }

    /// Where it begins.
    pub(crate) fn address(&self) -> Address {
        let (address, _no_events) = self.slice.device_ptr(self.slice.stream());
        Address(address)
    }

    /// Where the number at this place is.
    pub(crate) fn place(&self, index: usize) -> Address {
        self.address().offset(index, size_of::<T>())
    }
}

/// # Safety
/// Both parts must lie within live buffers of the device and must not overlap.
unsafe fn copy(
    device: &Device,
    from: Address,
    to: Address,
    bytes: usize,
) -> Result<(), cudarc::driver::DriverError> {
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the caller's.
    unsafe { result::memcpy_dtod_async(to.0, from.0, bytes, device.stream().cu_stream()) }
}

/// Memory that is used again and again and only grows. What it holds does not survive growing.
#[derive(Debug)]
pub(crate) struct Room<T> {
    what: &'static str,
    buffer: Option<Buffer<T>>,
}

impl<T: DeviceRepr> Room<T> {
    /// Nothing yet.
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, buffer: None }
    }

    /// A buffer of at least this many numbers.
    pub(crate) fn at_least(&mut self, device: &Device, len: usize) -> Result<&mut Buffer<T>, DeviceError> {
        let kept = self.buffer.take().filter(|buffer| buffer.len() >= len);
        let buffer = match kept {
            Some(buffer) => buffer,
            None => Buffer::new(device, self.what, len)?,
        };
        Ok(self.buffer.insert(buffer))
    }

    /// The beginning of a buffer of at least this many numbers.
    pub(crate) fn address(&mut self, device: &Device, len: usize) -> Result<Address, DeviceError> {
        Ok(self.at_least(device, len)?.address())
    }
}
