//! The inner loop that all products share, and how outputs are cut into tiles.

use crate::vector::{LANES, Line, V16};

/// Continues the chains of a tile of `R` rows and `C` vectors: for each `k`, `a[r][k]` times line `k` of panel `c`.
///
/// All rows of `a` and all panels must be at least as long as the first panel.
#[inline(always)]
pub(crate) fn chain<V: V16, const R: usize, const C: usize>(
    a: [&[f32]; R],
    b: [&[Line]; C],
    mut acc: [[V; C]; R],
) -> [[V; C]; R] {
    let inner = b[0].len();
    let mut rows = a;
    for row in &mut rows {
        *row = &row[..inner];
    }
    let mut panels = b;
    for panel in &mut panels {
        *panel = &panel[..inner];
    }
    for k in 0..inner {
        let mut right = [V::zero(); C];
        for c in 0..C {
            right[c] = V::load(&panels[c][k].0);
        }
        for r in 0..R {
            let left = V::splat(rows[r][k]);
            for c in 0..C {
                acc[r][c] = left.fma(right[c], acc[r][c]);
            }
        }
    }
    acc
}

/// Something done for blocks of rows, each of a size that is known when it is compiled.
pub(crate) trait RowTiles {
    /// Handles rows `first .. first + R`.
    fn rows<V: V16, const R: usize>(&mut self, first: usize);
}

/// How many of `left` rows the next block has, given the most that the registers hold.
#[inline(always)]
pub(crate) fn step(left: usize, most: usize) -> usize {
    let limit = left.min(most);
    match limit {
        8.. => 8,
        6 | 7 => 6,
        5 => 4,
        small => small,
    }
}

/// Cuts `rows` rows into blocks.
#[inline(always)]
pub(crate) fn over_rows<V: V16, T: RowTiles>(rows: usize, tiles: &mut T) {
    let mut first = 0;
    while first < rows {
        let size = step(rows - first, V::TILE_ROWS);
        match size {
            8 => tiles.rows::<V, 8>(first),
            6 => tiles.rows::<V, 6>(first),
            4 => tiles.rows::<V, 4>(first),
            3 => tiles.rows::<V, 3>(first),
            2 => tiles.rows::<V, 2>(first),
            _ => tiles.rows::<V, 1>(first),
        }
        first += size;
    }
}

/// Something done for blocks of vectors side by side.
pub(crate) trait ColumnTiles {
    /// Handles vectors `first .. first + C`.
    fn columns<V: V16, const C: usize>(&mut self, first: usize);
}

/// How many of `left` vectors side by side the next block has: threes, but never a last one alone after a three.
#[inline(always)]
pub(crate) fn step_columns(left: usize, most: usize) -> usize {
    match left.min(most) {
        3.. if left != 4 => 3,
        2.. => 2,
        _ => 1,
    }
}

/// Cuts `vectors` vectors into blocks.
#[inline(always)]
pub(crate) fn over_columns<V: V16, T: ColumnTiles>(vectors: usize, tiles: &mut T) {
    let mut first = 0;
    while first < vectors {
        let size = step_columns(vectors - first, V::TILE_COLS);
        match size {
            3 => tiles.columns::<V, 3>(first),
            2 => tiles.columns::<V, 2>(first),
            _ => tiles.columns::<V, 1>(first),
        }
        first += size;
    }
}

/// Reads the vector at column `col` of a row that may end within it; lanes beyond the end are 0.
#[inline(always)]
pub(crate) fn load_cut<V: V16>(row: &[f32], col: usize) -> V {
    let rest = &row[col..];
    if let Some(full) = rest.first_chunk::<LANES>() {
        return V::load(full);
    }
    let mut lanes = [0.0; LANES];
    lanes[..rest.len()].copy_from_slice(rest);
    V::load(&lanes)
}

/// Writes the vector at column `col` of a row that may end within it; lanes beyond the end are dropped.
#[inline(always)]
pub(crate) fn store_cut<V: V16>(row: &mut [f32], col: usize, value: V) {
    let rest = &mut row[col..];
    if let Some(full) = rest.first_chunk_mut::<LANES>() {
        value.store(full);
        return;
    }
    let lanes = value.to_array();
    let len = rest.len();
    rest.copy_from_slice(&lanes[..len]);
}
