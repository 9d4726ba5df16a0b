//! Matrix products: every output one chain, `k` ascending.

use super::{Address, LaunchShape};

/// Rows and columns of the tile of outputs that a block computes.
const TILE: u32 = 64;
/// Threads of a block: each has four by four outputs.
const THREADS: u32 = 256;

fn tiles(m: u32, n: u32) -> LaunchShape {
    LaunchShape::plane(n.div_ceil(TILE), m.div_ceil(TILE), THREADS)
}

kernel! {
    /// `c[m][n] = chain over k of a[m][k] b[k][n]`: activations times a matrix `[in, out]`.
    pub struct GemmNn = "gemm.cu"::"gemm_nn" {
        /// `[m, k]`, rows `a_stride` apart.
        a: Address,
        /// From the start of a row of `a` to the next.
        a_stride: u32,
        /// `[k, n]`, rows `b_stride` apart.
        b: Address,
        /// From the start of a row of `b` to the next.
        b_stride: u32,
        /// `[m, n]`, rows `c_stride` apart.
        c: Address,
        /// From the start of a row of `c` to the next.
        c_stride: u32,
        /// Rows of `c`.
        m: u32,
        /// Columns of `c`.
        n: u32,
        /// Length of every chain.
        k: u32,
        /// 0: chains start at 0. 1: at what stands in `c`.
        start: u32,
    }
    shape(launch) { tiles(launch.m, launch.n) }
}

kernel! {
    /// `c[m][n] = chain over k of a[m][k] b[n][k]`: gradients times a matrix `[in, out]` turned; logits.
    pub struct GemmNt = "gemm.cu"::"gemm_nt" {
        /// `[m, k]`, rows `a_stride` apart.
        a: Address,
        /// From the start of a row of `a` to the next.
        a_stride: u32,
        /// `[n, k]`, rows `b_stride` apart.
        b: Address,
        /// From the start of a row of `b` to the next.
        b_stride: u32,
        /// `[m, n]`, rows `c_stride` apart.
        c: Address,
        /// From the start of a row of `c` to the next.
        c_stride: u32,
        /// Rows of `c`.
        m: u32,
        /// Columns of `c`.
        n: u32,
        /// Length of every chain.
        k: u32,
        /// 0: chains start at 0. 1: at what stands in `c`.
        start: u32,
    }
    shape(launch) { tiles(launch.m, launch.n) }
}

kernel! {
    /// `c[m][n] = chain over k of a[k][m] b[k][n]`: the gradient of a matrix, `k` running over tokens.
    pub struct GemmTn = "gemm.cu"::"gemm_tn" {
        /// `[k, m]`, rows `a_stride` apart.
        a: Address,
        /// From the start of a row of `a` to the next.
        a_stride: u32,
        /// `[k, n]`, rows `b_stride` apart.
        b: Address,
        /// From the start of a row of `b` to the next.
        b_stride: u32,
        /// `[m, n]`, rows `c_stride` apart.
        c: Address,
        /// From the start of a row of `c` to the next.
        c_stride: u32,
        /// Rows of `c`.
        m: u32,
        /// Columns of `c`.
        n: u32,
        /// Length of every chain.
        k: u32,
        /// 0: chains start at 0. 1: at what stands in `c`.
        start: u32,
    }
    shape(launch) { tiles(launch.m, launch.n) }
}
