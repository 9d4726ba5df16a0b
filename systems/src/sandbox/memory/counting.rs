//! An allocator that counts live bytes, for worker processes.
//!
//! The interpreter checks a process-wide count of live bytes against the memory limit of the program it runs. The binary
//! that serves as worker installs this type as its global allocator to keep that count:
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: tadpole_systems::sandbox::memory::Counting = tadpole_systems::sandbox::memory::Counting;
//! # fn main() {}
//! ```
//!
//! It counts only in a process that is a worker: elsewhere a counter shared by all threads would cost more than it tells.
#![expect(
    unsafe_code,
    reason = "implementing GlobalAlloc is unsafe; every method forwards to the system's allocator"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

use monty_types::LIVE_MEMORY;

/// Keeps the count above 0 when bytes are freed that were allocated before counting began.
const MARGIN_BYTES: usize = 1 << 30;

static IS_COUNTING: AtomicBool = AtomicBool::new(false);

/// Starts counting in this process, if its allocator is [`Counting`].
pub(in crate::sandbox) fn start_counting() {
    if !IS_COUNTING.swap(true, Ordering::Relaxed) {
        LIVE_MEMORY.fetch_add(MARGIN_BYTES, Ordering::Relaxed);
    }
}

fn count(added: usize) {
    if IS_COUNTING.load(Ordering::Relaxed) {
        // Wrapping, for negative differences: the count as a whole stays above 0.
        LIVE_MEMORY.fetch_add(added, Ordering::Relaxed);
    }
}

/// The system's allocator, counting the bytes that are allocated and not freed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

// SAFETY: each method hands its arguments unchanged to the same method of `System` and returns its result unchanged, so
// `System`'s guarantees hold; the counter is an atomic integer, whose updates neither allocate nor unwind.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise about `layout` is what `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise about `layout` is what `System` asks for.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0_usize.wrapping_sub(layout.size()));
        // SAFETY: `pointer` came from this allocator, hence from `System`, with this `layout`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.wrapping_sub(layout.size()));
        // SAFETY: `pointer` came from this allocator, hence from `System`, with this `layout`; the caller checked `size`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
