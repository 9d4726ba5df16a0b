//! The rollouts of the update after this one, played beside it.

use bevy_ecs::prelude::Res;
use bevy_ecs::system::SystemParam;
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::{DecideError, Proposal};
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::world::WorldView;

use super::{plan, roll_out};
use crate::capability::Recipe;
use crate::rollout::{Ahead, Players, Prepared};

/// What playing ahead needs.
#[derive(SystemParam)]
pub struct NextRollouts<'w> {
    pub(super) ahead: Res<'w, Ahead>,
    players: Res<'w, Players>,
    effects: Res<'w, EffectStore>,
    proposal: Res<'w, Proposal>,
}

impl NextRollouts<'_> {
    /// How the next rollouts are played, where they can be and shall be. Not while a log is verified: what it says of them
    /// comes with their own step.
    pub(super) fn preparation<'a>(
        &'a self,
        world: &WorldView<'_>,
        recipe: &Recipe,
        blobs: &'a BlobReader,
    ) -> Result<Option<impl FnOnce() -> Result<Prepared, DecideError> + Send + use<'a>>, DecideError> {
        let progress = world.progress();
        let tasks = plan::playable_ahead(progress, recipe);
        if tasks.is_empty() || !recipe.exec.ahead || !self.proposal.events().is_empty() {
            return Ok(None);
        }
        let (weights, assignments) =
            roll_out::assigned(world, recipe, blobs, (progress.updates + 1, &tasks))?;
        let (players, effects, proposal) = (&*self.players, &*self.effects, &*self.proposal);
        Ok(Some(move || roll_out::play(players, effects, proposal, blobs, (weights, &assignments))))
    }
}
