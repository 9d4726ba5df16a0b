//! What must not matter: entities, their order, how the world came to be.

use proptest::prelude::*;
use tadpole_kernel::draws::{Stream, StreamKey};
use tadpole_kernel::driver::Kernel;
use tadpole_kernel::event::Event;
use tadpole_kernel::forge::world_of;
use tadpole_kernel::id::{StableId, Step};
use tadpole_kernel::replay::Replay;
use tadpole_kernel::world::World;

use crate::toy::{self, SCENARIO, header, systems};

#[test]
fn a_world_rebuilt_in_shuffled_order_before_every_step_gives_the_same_chain() {
    let (_temp, plain) = toy::finished();
    for seed in 0..3 {
        let (_temp, dir) = toy::place();
        let mut kernel = Kernel::create(&dir, SCENARIO, header(), systems()).unwrap();
        let mut step = 0;
        loop {
            step += 1;
            kernel.rebuild_world(seed * 1000 + step);
            if kernel.step().unwrap().is_none() {
                break;
            }
        }
        toy::assert_same_content(&plain, &dir);
    }
}

#[test]
fn a_rebuilt_world_has_the_same_digest_components_and_index() {
    let (_temp, dir) = toy::finished();
    let mut replay = Replay::open(&dir).unwrap();
    while let Some(commit) = replay.step().unwrap() {
        let mut order = Stream::new(commit.step.0, &StreamKey::new("test"));
        let mut rebuilt = replay.world().rebuilt(&mut order);
        assert_eq!(rebuilt.digest(), commit.world);
        assert_eq!(rebuilt.difference(replay.world()), None);
        rebuilt.audit().unwrap();
        let (old, new) = (replay.world().view(), rebuilt.view());
        for (id, _) in old.index().iter() {
            assert!(old.played_on(id).eq(new.played_on(id)));
        }
    }
}

#[test]
fn the_digest_of_the_empty_world_is_frozen() {
    let mut world = World::new();
    world.audit().unwrap();
    insta::assert_snapshot!(world.digest());
}

#[test]
fn a_difference_between_worlds_names_component_and_id() {
    let (_temp, dir) = toy::finished();
    let mut earlier = Replay::open(&dir).unwrap();
    let mut later = Replay::open(&dir).unwrap();
    earlier.to(Step(1)).unwrap();
    later.to(Step(2)).unwrap();
    let difference = earlier.world().difference(later.world()).unwrap();
    assert_eq!((difference.component, difference.id.0), ("Progress", 0));
    assert_ne!(difference.left, difference.right);
}

#[test]
fn the_dump_of_a_small_world_is_readable() {
    let (_temp, dir) = toy::finished();
    let mut replay = Replay::open(&dir).unwrap();
    replay.to(Step(4)).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&replay.world().to_json()).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// `apply` is total: any events, in any order, any number of times, give a world with consistent digests.
    #[test]
    fn applying_is_total(picks in prop::collection::vec((0..Event::NAMES.len(), 0_u64..6), 0..40)) {
        let mut world = world_of(picks.into_iter().map(|(which, id)| renumbered(which, id)));
        world.audit().unwrap();
        let mut rebuilt = world.rebuilt(&mut Stream::new(0, &StreamKey::new("test")));
        prop_assert_eq!(rebuilt.digest(), world.digest());
        prop_assert_eq!(rebuilt.difference(&world), None);
    }
}

/// Sample `which` about entity `id`.
fn renumbered(which: usize, id: u64) -> Event {
    let id = if id == 5 { StableId(u64::MAX) } else { StableId(id) };
    let mut event = crate::samples::all().swap_remove(which);
    match &mut event {
        Event::PolicyPublished(it) => it.policy = id,
        Event::TaskHeldOut(it) => it.task = id,
        Event::CandidateGenerated(it) => (it.candidate, it.draw) = (id, u32::MAX),
        Event::CandidateValidated(it) => it.candidate = id,
        Event::CandidateRejected(it) => it.candidate = id,
        Event::CandidateCalibrated(it) => it.candidate = id,
        Event::TaskAdmitted(it) => (it.candidate, it.task) = (id, StableId(id.0 / 2)),
        Event::TrajectoryFinished(it) => (it.trajectory, it.subject) = (id, StableId(id.0 / 2)),
        Event::UpdateApplied(it) => (it.policy, it.update) = (id, u32::MAX),
        _ => {}
    }
    event
}
