//! What deciders see: components by stable id, and iteration in its order.

use std::ops::RangeBounds;

use bevy_ecs::system::SystemParam;

use super::component::{Candidate, Content, Evaluation, Funnel, Policy, Progress, Task, Trajectory, Update};
use super::history::History;
use super::index::Index;
use super::registry::Registered;
use crate::id::StableId;

/// The run's own entity.
pub const RUN: StableId = StableId(0);

/// A read-only view of the world; a system takes it as a parameter. Whatever it iterates, it iterates ascending by id.
#[derive(SystemParam, Clone)]
pub struct WorldView<'w> {
    ecs: &'w bevy_ecs::world::World,
}

impl std::fmt::Debug for WorldView<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("WorldView").field("entities", &self.index().len()).finish_non_exhaustive()
    }
}

impl<'w> WorldView<'w> {
    pub(super) fn new(ecs: &'w bevy_ecs::world::World) -> Self {
        Self { ecs }
    }

    /// The ordered index.
    pub fn index(&self) -> &'w Index {
        self.ecs.resource::<Index>()
    }

    /// Component `C` of `id`.
    pub fn get<C: Registered>(&self, id: StableId) -> Option<&'w C> {
        self.ecs.get::<C>(self.index().get(id)?)
    }

    /// All `C`, ascending by id.
    pub fn all<C: Registered>(&self) -> impl DoubleEndedIterator<Item = (StableId, &'w C)> + use<'w, C> {
        self.range(..)
    }

    /// The `C` whose id is within `range`, ascending by id.
    pub fn range<C: Registered, R: RangeBounds<StableId>>(
        &self,
        range: R,
    ) -> impl DoubleEndedIterator<Item = (StableId, &'w C)> + use<'w, C, R> {
        let ecs = self.ecs;
        ecs.resource::<Index>()
            .with::<C>(range)
            .filter_map(move |(id, entity)| ecs.get::<C>(entity).map(|component| (id, component)))
    }

    /// How many `C` there are.
    pub fn count<C: Registered>(&self) -> usize {
        self.index().count::<C>()
    }

    /// Where the run stands.
    pub fn progress(&self) -> &'w Progress {
        #[expect(clippy::expect_used, reason = "made with the world, never removed")]
        self.get(RUN).expect("the run's entity carries its progress")
    }

    /// How candidates fared, by iteration.
    pub fn funnel(&self) -> &'w Funnel {
        #[expect(clippy::expect_used, reason = "made with the world, never removed")]
        self.get(RUN).expect("the run's entity carries its funnel")
    }

    /// A candidate.
    pub fn candidate(&self, id: StableId) -> Option<&'w Candidate> {
        self.get(id)
    }

    /// What a candidate or task consists of, while it is in the world.
    pub fn content(&self, id: StableId) -> Option<&'w Content> {
        self.get(id)
    }

    /// A task.
    pub fn task(&self, id: StableId) -> Option<&'w Task> {
        self.get(id)
    }

    /// A trajectory.
    pub fn trajectory(&self, id: StableId) -> Option<&'w Trajectory> {
        self.get(id)
    }

    /// A trajectory's token histories, while they are in the world.
    pub fn history(&self, id: StableId) -> Option<&'w History> {
        self.get(id)
    }

    /// A set of weights.
    pub fn policy(&self, id: StableId) -> Option<&'w Policy> {
        self.get(id)
    }

    /// The update that made a policy.
    pub fn update(&self, policy: StableId) -> Option<&'w Update> {
        self.get(policy)
    }

    /// The evaluations of a policy.
    pub fn evaluation(&self, policy: StableId) -> Option<&'w Evaluation> {
        self.get(policy)
    }

    /// All candidates.
    pub fn candidates(&self) -> impl DoubleEndedIterator<Item = (StableId, &'w Candidate)> + use<'w> {
        self.all()
    }

    /// All tasks, held-out ones included.
    pub fn tasks(&self) -> impl DoubleEndedIterator<Item = (StableId, &'w Task)> + use<'w> {
        self.all()
    }

    /// All trajectories.
    pub fn trajectories(&self) -> impl DoubleEndedIterator<Item = (StableId, &'w Trajectory)> + use<'w> {
        self.all()
    }

    /// Trajectories played on a candidate or task.
    pub fn played_on(
        &self,
        subject: StableId,
    ) -> impl DoubleEndedIterator<Item = (StableId, &'w Trajectory)> + use<'w> {
        let view = self.clone();
        view.index().played_on(subject).filter_map(move |id| Some((id, view.trajectory(id)?)))
    }

    /// All policies.
    pub fn policies(&self) -> impl DoubleEndedIterator<Item = (StableId, &'w Policy)> + use<'w> {
        self.all()
    }

    /// All updates, by the policy they made.
    pub fn updates(&self) -> impl DoubleEndedIterator<Item = (StableId, &'w Update)> + use<'w> {
        self.all()
    }

    /// All evaluations, by the policy they measured.
    pub fn evaluations(&self) -> impl DoubleEndedIterator<Item = (StableId, &'w Evaluation)> + use<'w> {
        self.all()
    }
}
