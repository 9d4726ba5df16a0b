//! Keys and values of many sequences on the device, in pages that sequences may share.

use super::buffer::Buffer;
use super::error::DeviceError;
use super::model::DeviceModel;
use crate::kernels::Address;
use crate::transformer::{BLOCK, PageCopy, Pages};

/// Pages that are allocated at first.
const FIRST_PAGES: usize = 64;

/// Pages and what stands on them.
pub(super) struct PagedCache {
    pub(super) pages: Pages,
    /// Numbers of a page.
    page_len: usize,
    buffer: Option<Buffer<f32>>,
}

/// Where kernels find the cache.
#[derive(Clone, Copy)]
pub(super) struct CacheAt {
    pub(super) address: Address,
    pub(super) page_stride: u32,
    /// From one layer of a page to the next.
    pub(super) layer_stride: u32,
}

impl PagedCache {
    /// An empty cache.
    pub(super) fn new(model: &DeviceModel, slots: usize) -> Self {
        let page_len = (model.sizes.layers * layer_stride(model)) as usize;
        Self { pages: Pages::new(slots), page_len, buffer: None }
    }

    /// Makes slot `to` hold what slot `from` holds.
    pub(super) fn fork(&mut self, model: &DeviceModel, from: usize, to: usize) -> Result<(), DeviceError> {
        let Some(PageCopy { from, to }) = self.pages.fork(from, to) else { return Ok(()) };
        let len = self.page_len;
        self.allocate(model)?.copy_within(&model.device, [from * len, to * len, len])
    }

    /// Where the cache is, with room for every page.
    pub(super) fn at(&mut self, model: &DeviceModel) -> Result<CacheAt, DeviceError> {
        let (address, page_stride) = (self.allocate(model)?.address(), self.page_len as u32);
        Ok(CacheAt { address, page_stride, layer_stride: layer_stride(model) })
    }

    /// The buffer, grown to hold every page. What it held, it holds.
    fn allocate(&mut self, model: &DeviceModel) -> Result<&mut Buffer<f32>, DeviceError> {
        let needed = self.pages.count() * self.page_len;
        let buffer = match self.buffer.take() {
            Some(buffer) if buffer.len() >= needed => buffer,
            old => {
                let pages = self.pages.count().next_power_of_two().max(FIRST_PAGES);
                let mut buffer = Buffer::new(&model.device, "keys and values", pages * self.page_len)?;
                if let Some(old) = old {
                    buffer.take(&model.device, &old, [0, 0, old.len()])?;
                }
                buffer
            }
        };
        Ok(self.buffer.insert(buffer))
    }
}

/// Numbers of a layer on a page.
pub(super) fn layer_stride(model: &DeviceModel) -> u32 {
    model.sizes.keys * 2 * BLOCK as u32 * model.sizes.head_dim
}
