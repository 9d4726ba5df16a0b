//! Gives out stable ids within one decision.

use tadpole_kernel::id::StableId;
use tadpole_kernel::world::Progress;

/// The ids that follow those the log has seen.
#[derive(Clone, Copy, Debug)]
pub struct Ids(StableId);

impl Ids {
    /// Continues behind what the world holds.
    #[must_use]
    pub fn after(progress: &Progress) -> Self {
        Self(progress.next_id)
    }

    /// For a world that holds nothing yet: `StableId(0)` is the run.
    #[must_use]
    pub fn first() -> Self {
        Self(StableId(1))
    }

    /// The next id.
    pub fn next(&mut self) -> StableId {
        let id = self.0;
        self.0 = id.next();
        id
    }
}
