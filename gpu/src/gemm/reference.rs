//! The definition of the products, as plain loops.

/// `out[m][n] = chain over k of a[m][k] b[k][n]` from `out[m][n]`, all row by row without gaps.
pub fn product(a: &[f32], b: &[f32], rows: usize, inner: usize, cols: usize, out: &mut [f32]) {
    for m in 0..rows {
        for n in 0..cols {
            let mut acc = out[m * cols + n];
            for k in 0..inner {
                acc = a[m * inner + k].mul_add(b[k * cols + n], acc);
            }
            out[m * cols + n] = acc;
        }
    }
}

/// `out[m][n] = chain over t of a[t][m] b[t][n]` from `out[m][n]`, all row by row without gaps.
pub fn accumulate_transposed(a: &[f32], b: &[f32], tokens: usize, rows: usize, cols: usize, out: &mut [f32]) {
    for m in 0..rows {
        for n in 0..cols {
            let mut acc = out[m * cols + n];
            for t in 0..tokens {
                acc = a[t * rows + m].mul_add(b[t * cols + n], acc);
            }
            out[m * cols + n] = acc;
        }
    }
}
