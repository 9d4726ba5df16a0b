//! The right factor of a product, packed.

use crate::vector::{LANES, Line};

/// A matrix `[inner, cols]` in panels of sixteen columns, each panel row after row. Columns that fill up the last
/// panel are 0; what is computed from them is never stored.
#[derive(Clone, Debug)]
pub struct Packed {
    inner: usize,
    cols: usize,
    lines: Vec<Line>,
}

impl Packed {
    /// Packs matrices `[inner, n]`, stored row by row, side by side; each but the last has a multiple of sixteen
    /// columns.
    pub fn from_rows(inner: usize, parts: &[&[f32]]) -> Self {
        let mut packed = Self { inner, cols: 0, lines: Vec::new() };
        for part in parts {
            let cols = part.len().checked_div(inner).unwrap_or(0);
            packed.push(cols, |row, col| part[row * cols + col]);
        }
        packed
    }

    /// Packs the transposes of matrices `[n, m]`, stored row by row, one below the other: the inner dimension is the sum
    /// of their `m`, the columns are their common `n`.
    pub fn from_columns(cols: usize, parts: &[&[f32]]) -> Self {
        let mut widths = Vec::new();
        for part in parts {
            widths.push(part.len().checked_div(cols).unwrap_or(0));
        }
        let inner = widths.iter().sum();
        let mut packed = Self { inner, cols: 0, lines: Vec::new() };
        packed.push(cols, |row, col| {
            let mut row = row;
            for (part, &width) in parts.iter().zip(&widths) {
                if row < width {
                    return part[col * width + row];
                }
                row -= width;
            }
            0.0
        });
        packed
    }

    fn push(&mut self, cols: usize, value: impl Fn(usize, usize) -> f32) {
        self.cols += cols;
        for panel in 0..cols.div_ceil(LANES) {
            let first = panel * LANES;
            let used = LANES.min(cols - first);
            for row in 0..self.inner {
                let mut line = Line::ZERO;
                for (lane, slot) in line.0.iter_mut().take(used).enumerate() {
                    *slot = value(row, first + lane);
                }
                self.lines.push(line);
            }
        }
    }

    /// Rows of the matrix: the length of every chain.
    pub fn inner(&self) -> usize {
        self.inner
    }

    /// Columns of the matrix.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of panels.
    pub(crate) fn panels(&self) -> usize {
        self.cols.div_ceil(LANES)
    }

    /// One panel: sixteen columns of every row.
    #[inline(always)]
    pub(crate) fn panel(&self, panel: usize) -> &[Line] {
        &self.lines[panel * self.inner..][..self.inner]
    }
}
