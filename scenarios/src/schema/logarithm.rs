//! Natural logarithms for checks at load: plain IEEE operations in one order, so that a scenario is refused everywhere or nowhere.

use std::f64::consts::LN_2;

/// Bound of the absolute error of [`ln`] for arguments from 1 to 2^32.
pub(crate) const LN_ERROR: f64 = 1e-12;

/// `ln(over / under)` for `over >= under > 0`, within [`LN_ERROR`].
pub(crate) fn ln(over: u32, under: u32) -> f64 {
    let mut ratio = f64::from(over) / f64::from(under);
    let mut halvings = 0.0;
    while ratio > 1.5 {
        ratio /= 2.0;
        halvings += 1.0;
    }
    // ln r = 2 artanh((r - 1) / (r + 1)); with r from 0.75 to 1.5 the argument is at most 0.2, and 24 terms leave nothing.
    let x = (ratio - 1.0) / (ratio + 1.0);
    let mut sum = 0.0;
    for term in (0..24_u32).rev() {
        sum = sum * x * x + 1.0 / f64::from(2 * term + 1);
    }
    halvings * LN_2 + 2.0 * x * sum
}

#[cfg(test)]
mod tests {
    use std::f64::consts::LN_10;

    use super::*;

    #[test]
    fn logarithms_agree_with_known_values() {
        let known = [
            (1, 1, 0.0),
            (2, 1, LN_2),
            (3, 2, 0.405_465_108_108_164_4),
            (448, 64, 1.945_910_149_055_313_3),
            (10, 1, LN_10),
            (1_048_576, 1, 13.862_943_611_198_906),
            (u32::MAX, 1, 22.180_709_777_685_42),
        ];
        for (over, under, value) in known {
            assert!((ln(over, under) - value).abs() < LN_ERROR, "ln({over}/{under}) = {}", ln(over, under));
        }
    }
}
