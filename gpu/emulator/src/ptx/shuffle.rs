//! Lanes of a warp that give each other a number.

use super::frame::Slot;

/// Lanes of a warp.
pub(super) const LANES: usize = 32;
/// What every shuffle has to name: a part of a warp would be a rule of its own.
pub(super) const WHOLE_WARP: u32 = u32::MAX;

/// From where a lane takes its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// From the lane so many further on.
    Down,
    /// From the lane of that number.
    Index,
}

/// `shfl.sync.MODE.b32 to|in_range, value, by, bounds, members`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shuffle {
    pub(super) mode: Mode,
    pub(super) to: Slot,
    pub(super) in_range: Option<Slot>,
    pub(super) value: Slot,
    pub(super) by: Slot,
    /// Bits 0 to 4: the last lane of a segment; bits 8 to 12: which bits of a lane's number name its segment.
    pub(super) bounds: Slot,
    pub(super) members: Slot,
}

impl Mode {
    /// The lane that a lane takes its number from, and whether that lane lies in its segment; if not, it is its own.
    pub(super) fn source(self, lane: u32, by: u32, bounds: u32) -> (u32, bool) {
        let (by, last, segment) = (by & 31, bounds & 31, bounds >> 8 & 31);
        let first = lane & segment;
        let most = first | (last & !segment);
        let from = match self {
            Self::Down => lane + by,
            Self::Index => first | (by & !segment),
        };
        if from <= most { (from, true) } else { (lane, false) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of sixteen lanes.
    const HALVES: u32 = 0x101f;

    #[test]
    fn lanes_take_from_further_on_as_far_as_their_segment_goes() {
        assert_eq!(Mode::Down.source(3, 8, HALVES), (11, true));
        assert_eq!(Mode::Down.source(12, 8, HALVES), (12, false));
        assert_eq!(Mode::Down.source(12, 8, 0x1f), (20, true));
        assert_eq!(Mode::Down.source(30, 1, HALVES), (31, true));
        assert_eq!(Mode::Down.source(31, 1, HALVES), (31, false));
    }

    #[test]
    fn a_lane_is_named_within_its_segment() {
        assert_eq!(Mode::Index.source(5, 0, HALVES), (0, true));
        assert_eq!(Mode::Index.source(21, 3, HALVES), (19, true));
        assert_eq!(Mode::Index.source(21, 3, 0x1f), (3, true));
        assert_eq!(Mode::Index.source(2, 9, 0x0003), (2, false));
    }
}
