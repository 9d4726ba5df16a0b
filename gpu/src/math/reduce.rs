//! Sums in the one written order: 16 strided lanes, then a fixed tree.
//!
//! Lane `l` starts at 0 and takes the elements `l, l + 16, l + 32, ...` in this order. The tree then adds to each lane
//! the one 8 above it, then 4, 2 and 1 above; the sum is what lane 0 holds.

/// How many running sums a reduction keeps.
pub const LANES: usize = 16;

/// Adds up 16 lanes by the fixed tree.
#[inline]
pub fn tree(mut lanes: [f32; LANES]) -> f32 {
    for distance in [8, 4, 2, 1] {
        for lane in 0..distance {
            lanes[lane] += lanes[lane + distance];
        }
    }
    lanes[0]
}

/// Adds up 16 lanes by the fixed tree, in double precision.
#[inline]
pub fn tree_double(mut lanes: [f64; LANES]) -> f64 {
    for distance in [8, 4, 2, 1] {
        for lane in 0..distance {
            lanes[lane] += lanes[lane + distance];
        }
    }
    lanes[0]
}

/// The sum of `values`, each addition rounded to single precision.
pub fn sum(values: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    for block in values.chunks(LANES) {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane += value;
        }
    }
    tree(lanes)
}

/// The sum of the squares of `values` in double precision, where each square is exact.
pub fn sum_of_squares(values: &[f32]) -> f64 {
    let mut lanes = [0.0; LANES];
    for block in values.chunks(LANES) {
        for (lane, &value) in lanes.iter_mut().zip(block) {
            *lane += f64::from(value) * f64::from(value);
        }
    }
    tree_double(lanes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_strided_and_the_tree_is_fixed() {
        let values: Vec<f32> = (0..35).map(|i| 1.0 / (1.0 + i as f32)).collect();
        let mut lanes = [0.0_f32; 16];
        for (i, value) in values.iter().enumerate() {
            lanes[i % 16] += value;
        }
        let eight: Vec<f32> = (0..8).map(|l| lanes[l] + lanes[l + 8]).collect();
        let four: Vec<f32> = (0..4).map(|l| eight[l] + eight[l + 4]).collect();
        let expected = (four[0] + four[2]) + (four[1] + four[3]);
        assert_eq!(sum(&values).to_bits(), expected.to_bits());
    }
}
