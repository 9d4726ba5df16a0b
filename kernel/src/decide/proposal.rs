//! What a decision may turn out to be.

use std::sync::Arc;

use bevy_ecs::prelude::Resource;

use crate::event::Event;

/// The events that the log has in place of the decision under way, while a run is verified; none while it runs. A system
/// takes `Res<Proposal>`.
///
/// *Invariant*: a decision is the same whatever is proposed. Whoever checks a proposal may be faster than who decides
/// without one (a known history is read at once, not drawn token by token), and nothing of it may be taken for true
/// before it was recomputed: what is verified may be forged.
#[derive(Resource, Clone, Debug, Default)]
pub struct Proposal(Arc<[Event]>);

impl Proposal {
    /// A proposal of these events.
    #[must_use]
    pub fn new(events: Vec<Event>) -> Self {
        Self(events.into())
    }

    /// The events, in the order of the log.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.0
    }
}
