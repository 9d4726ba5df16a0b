//! The reciprocal square root.

use super::lane::Lane;

/// `1 / sqrt(x)`, both operations correctly rounded.
#[inline(always)]
pub fn rsqrt<L: Lane>(x: L) -> L {
    L::splat(1.0).div(x.sqrt())
}
