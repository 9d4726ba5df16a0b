//! Interval and pass@k estimators, from `sqrt` and the four operations alone, so that every machine prints the same.

/// 97.5% quantile of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// A mean with the 95% interval of the normal approximation.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Mean {
    /// Numbers that it is the mean of.
    pub count: u32,
    /// The mean.
    pub mean: f64,
    /// Lower end of the interval; the mean itself where there is but one number.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The mean of `values`, each independent of the others; `None` of none.
#[must_use]
pub fn mean(values: &[f64]) -> Option<Mean> {
    if values.is_empty() {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let error = if count > 1.0 { (squares / (count - 1.0) / count).sqrt() } else { 0.0 };
    Some(Mean { count: values.len() as u32, mean, low: mean - Z * error, high: mean + Z * error })
}

/// The 95% Wilson score interval of a binomial share (Wilson 1927): `(low, high)`.
///
/// Nothing sampled says nothing: the interval is then all of `[0, 1]`.
#[must_use]
pub fn wilson(passed: u64, sampled: u64) -> (f64, f64) {
    if sampled == 0 {
        return (0.0, 1.0);
    }
    let n = sampled as f64;
    let share = passed as f64 / n;
    let z2 = Z * Z;
    let centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let spread = Z / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    ((centre - spread).max(0.0), (centre + spread).min(1.0))
}

/// The unbiased estimate of pass@k from `passed` of `sampled` trajectories: `1 - C(n-c, k) / C(n, k)`
/// (Chen et al. 2021, equation 1), as a product that cannot overflow.
///
/// `None` where fewer than `k` were sampled: there is no unbiased estimate then.
#[must_use]
pub fn pass_at(k: u32, passed: u32, sampled: u32) -> Option<f64> {
    if k == 0 || k > sampled || passed > sampled {
        return None;
    }
    if sampled - passed < k {
        return Some(1.0);
    }
    let failing =
        (sampled - passed + 1..=sampled).fold(1.0, |share, i| share * (1.0 - f64::from(k) / f64::from(i)));
    Some(1.0 - failing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn wilson_matches_published_values() {
        // R: prop.test(15, 50, correct = FALSE) gives 0.1910 .. 0.4375.
        let (low, high) = wilson(15, 50);
        assert!((low - 0.191_029).abs() < 1e-5 && (high - 0.437_506).abs() < 1e-5, "{low} {high}");
        let (low, high) = wilson(0, 10);
        assert!(low == 0.0 && (high - 0.277_533).abs() < 1e-5, "{low} {high}");
    }

    #[test]
    fn a_mean_comes_with_its_standard_error() {
        // Sample deviation of {1, 2, 3, 4} is sqrt(5/3); its standard error half of that.
        let Mean { count, mean: centre, low, high } = mean(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        let spread = 1.959_963_984_540_054 * (5.0_f64 / 3.0).sqrt() / 2.0;
        assert!(count == 4 && close(centre, 2.5) && close(low, 2.5 - spread) && close(high, 2.5 + spread));
        assert_eq!(mean(&[0.5]), Some(Mean { count: 1, mean: 0.5, low: 0.5, high: 0.5 }));
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn wilson_of_nothing_says_nothing() {
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }

    #[test]
    fn pass_at_equals_the_share_of_subsets_that_contain_a_pass() {
        // Enumerated by hand: of C(4,2) = 6 pairs from {P, P, F, F}, 5 contain a pass.
        assert!(close(pass_at(2, 2, 4).unwrap(), 5.0 / 6.0));
        assert!(close(pass_at(1, 3, 8).unwrap(), 3.0 / 8.0));
        assert!(close(pass_at(8, 1, 8).unwrap(), 1.0));
        assert!(close(pass_at(3, 0, 8).unwrap(), 0.0));
    }

    #[test]
    fn pass_at_refuses_more_than_was_sampled() {
        assert_eq!(pass_at(9, 1, 8), None);
        assert_eq!(pass_at(0, 1, 8), None);
    }
}
