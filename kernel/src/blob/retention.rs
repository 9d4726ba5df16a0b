//! Which blobs finished iterations no longer need.

use std::collections::BTreeSet;

use crate::id::Digest;
use crate::world::{Policy, WorldView};

/// Blobs of finished iterations that no later decision can need: weights that were never published, and optimiser
/// states, save that of the last update (an iteration may go on from it where moments are not reset).
///
/// Computed from the world alone, which every crash and resume agrees on; so deleting them again when a run is opened
/// ends with the same set, wherever a crash fell between commit and deletion.
pub(crate) fn superseded(view: &WorldView<'_>) -> BTreeSet<Digest> {
    unneeded(view, Moments::Carried)
}

/// Whether an iteration goes on from the optimiser state that the one before it ended with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moments {
    /// It may: the state is needed.
    #[default]
    Carried,
    /// It starts afresh.
    Reset,
}

/// What `superseded` says, and the last optimiser state of a finished iteration where nothing goes on from it.
pub(crate) fn unneeded(view: &WorldView<'_>, moments: Moments) -> BTreeSet<Digest> {
    let progress = view.progress();
    let over = |policy: &Policy| {
        policy.iteration < progress.iteration
            || (progress.iteration_finished && policy.iteration == progress.iteration)
    };
    let last = view.policies().filter(|(_, policy)| over(policy) && policy.state.is_some()).next_back();
    let last = last.map(|(id, _)| id);
    let mut dropped = BTreeSet::new();
    let mut kept = BTreeSet::new();
    for (id, policy) in view.policies() {
        let weights_over = over(policy) && !policy.published;
        if weights_over { &mut dropped } else { &mut kept }.insert(policy.weights);
        let state_over = over(policy) && (moments == Moments::Reset || Some(id) != last);
        if state_over { &mut dropped } else { &mut kept }.extend(policy.state);
    }
    &dropped - &kept
}
