//! Sixteen lanes of `f32`: the one vector type that kernels are written in.
//!
//! A kernel is a `Kernel`: a body generic over `V16`, entered through `dispatch` with an instruction set chosen
//! at run time. Every instance performs the same IEEE operations on the same lanes, so the instruction set is a choice
//! of speed and never of result. `Lanes`, plain arrays, is the specification.
//!
//! *Invariant*: this is the only module of the crate with `unsafe` code. The vector types that need an instruction set
//! are private to it and named in one place, the entry that `dispatch` reaches only after the processor has been
//! found to have that set.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod elementwise;
mod isa;
mod lanes;
mod line;
#[cfg(target_arch = "aarch64")]
mod neon;

use crate::math::Lane;

pub use elementwise::exp_all;
pub use isa::{Isa, IsaError, environment_is_exact};
pub(crate) use isa::{Kernel, dispatch};
pub(crate) use line::{Line, pad_lines, prefetch};

/// Lanes of the vector type.
pub(crate) const LANES: usize = 16;
/// Numbers that [`first_not_finite`] tests together.
const BLOCK: usize = 256;

/// Sixteen `f32` side by side.
///
/// Lane operations come from [`Lane`]. The two reductions are the definition of every sum and maximum across lanes.
pub(crate) trait V16: Lane {
    /// Rows of the largest tile of a matrix product whose accumulators fit the registers.
    const TILE_ROWS: usize;
    /// Vectors side by side in that tile.
    const TILE_COLS: usize;

    /// Reads sixteen values.
    fn load(from: &[f32; LANES]) -> Self;
    /// Writes sixteen values.
    fn store(self, to: &mut [f32; LANES]);

    /// `self > other ? self : other`, lane by lane: `other` where either is NaN.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(other.less(self), self, other)
    }

    /// All lanes 0.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(0.0)
    }

    /// The lanes as an array.
    #[inline(always)]
    fn to_array(self) -> [f32; LANES] {
        let mut lanes = [0.0; LANES];
        self.store(&mut lanes);
        lanes
    }

    /// The sum of the lanes by the fixed tree: `l + (l+8)`, then `+4`, `+2`, `+1`.
    #[inline(always)]
    fn sum(self) -> f32 {
        let mut lanes = self.to_array();
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                lanes[lane] += lanes[lane + width];
            }
            width /= 2;
        }
        lanes[0]
    }

    /// The largest lane by the same tree, of equal ones the earlier; lanes that are NaN may or may not be seen.
    #[inline(always)]
    fn largest(self) -> f32 {
        let mut lanes = self.to_array();
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                let (a, b) = (lanes[lane], lanes[lane + width]);
                lanes[lane] = if b > a { b } else { a };
            }
            width /= 2;
        }
        lanes[0]
    }
}

/// The place of the first number that is infinite or NaN.
pub(crate) fn first_not_finite(values: &[f32]) -> Option<usize> {
    // Without an exit from within, a block is tested side by side.
    let has_one = |block: &[f32]| block.iter().fold(false, |found, value| found | !value.is_finite());
    let block = values.chunks(BLOCK).position(has_one)? * BLOCK;
    values[block..].iter().position(|value| !value.is_finite()).map(|within| block + within)
}

#[cfg(test)]
mod tests;
