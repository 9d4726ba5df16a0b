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
    let progress = view.progress();
    let over = |policy: &Policy| {
        policy.iteration < progress.iteration
            || (progress.iteration_finished && policy.iteration == progress.iteration)
    };
    let last = view.updates().next_back().map(|(id, _)| id);
    let mut dropped = BTreeSet::new();
    let mut kept = BTreeSet::new();
    for (id, policy) in view.policies() {
        let weights_over = over(policy) && !policy.published;
        if weights_over { &mut dropped } else { &mut kept }.insert(policy.weights);
        let state_over = over(policy) && Some(id) != last;
        if state_over { &mut dropped } else { &mut kept }.extend(policy.state);
    }
    &dropped - &kept
}
