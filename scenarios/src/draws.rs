//! Randomness as this crate sees it: a sequence of 64-bit values handed in by the caller.

/// A source of independent, uniform 64-bit values. Everything drawn is a pure function of them and their order.
pub trait Draws {
    /// The next value.
    fn next_u64(&mut self) -> u64;

    /// A uniform value below `bound`, without bias; 0 where `bound` is 0.
    fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // Values past the last full multiple of `bound` would favour small results: they are drawn again.
        let excess = (u64::MAX % bound + 1) % bound;
        loop {
            let value = self.next_u64();
            if value <= u64::MAX - excess {
                return value % bound;
            }
        }
    }

    /// A uniform index of a sequence of `len` elements; 0 where there are none.
    fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// A uniform integer from `low` to `high`, both included; `low` where they are out of order.
    fn between(&mut self, low: i64, high: i64) -> i64 {
        if high <= low {
            return low;
        }
        let span = high.abs_diff(low);
        let offset = if span == u64::MAX { self.next_u64() } else { self.below(span + 1) };
        low.wrapping_add_unsigned(offset)
    }

    /// A uniform number in `[0, 1)`, of 53 bits.
    fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `true` with the given probability.
    fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// An index drawn in proportion to its weight; 0 where no weight is positive.
    fn weighted(&mut self, weights: &[f64]) -> usize {
        let mut left = self.uniform() * weights.iter().sum::<f64>();
        let mut last = 0;
        for (index, weight) in weights.iter().enumerate() {
            if *weight > 0.0 {
                if left < *weight {
                    return index;
                }
                left -= weight;
                last = index;
            }
        }
        last
    }
}

/// What a trait object cannot offer, because it is generic: every [`Draws`] has it.
pub trait DrawsExt: Draws {
    /// A uniform element; `None` of an empty slice.
    fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let index = self.index(items.len());
        items.get(index)
    }

    /// Brings the slice into a uniformly drawn order (Fisher and Yates, from the end).
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let other = self.index(end + 1);
            items.swap(other, end);
        }
    }
}

impl<D: Draws + ?Sized> DrawsExt for D {}

impl<D: Draws + ?Sized> Draws for &mut D {
    fn next_u64(&mut self) -> u64 {
        (**self).next_u64()
    }
}

/// Draws of a named stream of a seed: blake3 in extendable-output mode over domain, seed and name. Streams of the
/// same seed under different names are independent, so that one can grow without moving another.
pub struct SeedDraws {
    output: blake3::OutputReader,
}

impl SeedDraws {
    /// The stream `name` of `seed`.
    ///
    /// ```
    /// use tadpole_scenarios::draws::{Draws, SeedDraws};
    /// let first = SeedDraws::new(7, "project").next_u64();
    /// assert_eq!(first, SeedDraws::new(7, "project").next_u64());
    /// assert_ne!(first, SeedDraws::new(7, "fault").next_u64());
    /// ```
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("tadpole scenarios 1 draws of a seed");
        hasher.update(&seed.to_le_bytes()).update(name.as_bytes());
        Self { output: hasher.finalize_xof() }
    }
}

impl Draws for SeedDraws {
    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.output.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Vec<u64>);

    impl Draws for Fixed {
        fn next_u64(&mut self) -> u64 {
            self.0.remove(0)
        }
    }

    #[test]
    fn below_draws_again_past_the_last_full_multiple() {
        assert_eq!(Fixed(vec![u64::MAX, 5]).below(3), 2);
        assert_eq!(Fixed(vec![u64::MAX]).below(1 << 63), (1 << 63) - 1);
        assert_eq!(Fixed(vec![]).below(0), 0);
    }

    #[test]
    fn between_includes_both_ends_and_survives_extremes() {
        let mut draws = SeedDraws::new(1, "between");
        let seen: std::collections::BTreeSet<i64> = (0..200).map(|_| draws.between(-2, 2)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [-2, -1, 0, 1, 2]);
        assert_eq!(draws.between(3, 1), 3);
        draws.between(i64::MIN, i64::MAX);
    }

    #[test]
    fn weights_of_zero_are_never_drawn() {
        let mut draws = SeedDraws::new(2, "weighted");
        let seen: std::collections::BTreeSet<usize> =
            (0..300).map(|_| draws.weighted(&[0.0, 1.0, 0.0, 2.0, 0.0])).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(draws.weighted(&[]), 0);
    }

    #[test]
    fn shuffle_permutes() {
        let mut items: Vec<u32> = (0..50).collect();
        SeedDraws::new(3, "shuffle").shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
