//! Storage that vectors are read from: sixteen values on a cache line of their own.

use super::LANES;

/// Sixteen values, aligned to a cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [f32; LANES]);

impl Line {
    /// All zeros.
    pub(crate) const ZERO: Self = Self([0.0; LANES]);
}

/// Makes `lines` at least `len` long; what is there stays or is 0.
pub(crate) fn pad_lines(lines: &mut Vec<Line>, len: usize) {
    if lines.len() < len {
        lines.resize(len, Line::ZERO);
    }
}

/// Begins to load lines into the nearest cache, where the processor has a way to; no result depends on it.
#[inline(always)]
pub(crate) fn prefetch(lines: &[Line]) {
    #[cfg(target_arch = "x86_64")]
    for line in lines {
        prefetch_line(line);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _unused = lines;
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(unsafe_code, reason = "a vendor intrinsic that has no safe form")]
fn prefetch_line(line: &Line) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint, which every x86-64 processor has and which reads nothing into the program; the pointer is valid.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.0.as_ptr().cast()) }
}
