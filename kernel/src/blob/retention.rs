//! Which blobs finished iterations no longer need.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{Digest, Iteration, StableId};
use crate::world::{Policy, WorldView};

/// Blobs of finished iterations that no later decision can need: weights that were never published, and optimiser
/// states, save that of the last update of each iteration (the next may go on from it where moments are not reset, in this
/// run or in a fork).
///
/// Computed from the world alone, which every crash and resume agrees on; so deleting them again when a run is opened
/// ends with the same set, wherever a crash fell between commit and deletion.
pub(crate) fn superseded(view: &WorldView<'_>) -> BTreeSet<Digest> {
    // Ascending by id: of an iteration's updates the last one stays.
    let last: BTreeMap<Iteration, StableId> =
        view.updates().map(|(id, update)| (update.result.iteration, id)).collect();
    over(view, |id, policy| last.get(&policy.iteration) == Some(&id))
}

/// Which blobs of finished iterations must still be there: whether an iteration goes on from the optimiser state that the
/// one before it ended with, or the run keeps everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moments {
    /// It may: the state is needed.
    #[default]
    Carried,
    /// It starts afresh.
    Reset,
    /// Nothing is dropped, needed or not; save what a fork did not take over from its parent.
    Kept,
}

/// What a run can go on without: beside what is superseded, optimiser states of finished iterations, save that of its last
/// update where one may go on from it.
pub(crate) fn unneeded(view: &WorldView<'_>, moments: Moments) -> BTreeSet<Digest> {
    let last = view.updates().next_back().map(|(id, _)| id);
    over(view, |id, _| moments != Moments::Reset && Some(id) == last)
}

/// Blobs of finished iterations, save published weights and states that `stays` keeps.
fn over(view: &WorldView<'_>, stays: impl Fn(StableId, &Policy) -> bool) -> BTreeSet<Digest> {
    let progress = view.progress();
    let over = |policy: &Policy| {
        policy.iteration < progress.iteration
            || (progress.iteration_finished && policy.iteration == progress.iteration)
    };
    let mut dropped = BTreeSet::new();
    let mut kept = BTreeSet::new();
    for (id, policy) in view.policies() {
        let weights_over = over(policy) && !policy.published;
        if weights_over { &mut dropped } else { &mut kept }.insert(policy.weights);
        let state_over = over(policy) && !stays(id, policy);
        if state_over { &mut dropped } else { &mut kept }.extend(policy.state);
    }
    &dropped - &kept
}
