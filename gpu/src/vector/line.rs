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
