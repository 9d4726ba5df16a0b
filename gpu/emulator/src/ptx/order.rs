//! In which order things take their turns.

use crate::Order;

/// Puts places into the order of a launch, again at every call where the order is shuffled.
pub(super) struct Turns {
    order: Order,
    state: u64,
}

impl Turns {
    pub(super) fn new(order: Order) -> Self {
        let state = if let Order::Shuffled(seed) = order { seed } else { 0 };
        Self { order, state }
    }

    /// The numbers below `count`.
    pub(super) fn below(&mut self, count: usize) -> Vec<usize> {
        match self.order {
            Order::Forward => (0..count).collect(),
            Order::Reverse => (0..count).rev().collect(),
            Order::Shuffled(_) => {
                let mut places: Vec<usize> = (0..count).collect();
                for left in (2..=count).rev() {
                    places.swap(left - 1, (self.word() % left as u64) as usize);
                }
                places
            }
        }
    }

    /// The next word of a splitmix64 generator.
    fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}
