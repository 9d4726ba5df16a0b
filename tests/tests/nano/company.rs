//! An episode is the same whoever is played beside it.

use std::sync::Arc;

use tadpole_kernel::event::Purpose;
use tadpole_kernel::id::{Member, StableId, Version, Visit};
use tadpole_kernel::replay::Replay;
use tadpole_kernel::run::RunReader;
use tadpole_kernel::world::TaskSource;
use tadpole_systems::analysis::published;
use tadpole_systems::rollout::{Assignment, Played};
use tadpole_systems::subject::{self, Subject};
use tadpole_tests::drive;
use tadpole_tests::nano::{nano, run};

/// Members of a group: more than a lane takes at a time.
const MEMBERS: u32 = 11;

/// An episode, to the bit: numbers are spelt so that no two have one spelling.
fn spelt(played: &Played) -> (StableId, Member, String) {
    let Played { assignment, segments, exit, facts, raw_reward, reward, entropy, tool_calls, patch, draws } =
        played;
    let whole = format!(
        "{segments:?} {exit:?} {facts:?} {raw_reward:?} {reward:?} {entropy:?} {tool_calls} {patch:?} {draws:?}"
    );
    (assignment.subject.id, assignment.member, whole)
}

/// Whether two members of one group go on alike for a while behind their prompt, and part later.
fn some_part_late(played: &[Played]) -> bool {
    let tokens = |of: &Played| {
        let [segment] = of.segments.as_slice() else { panic!("one segment each") };
        let prompt = segment.sampled.first().map_or(0, |span| span.start as usize);
        segment.tokens.unpack()[prompt..].to_vec()
    };
    let pairs = played.iter().flat_map(|one| played.iter().map(move |other| (one, other)));
    pairs.filter(|(one, other)| one.assignment.subject.id == other.assignment.subject.id).any(
        |(one, other)| {
            let (one, other) = (tokens(one), tokens(other));
            one != other && one.iter().zip(&other).take_while(|(one, other)| one == other).count() > 4
        },
    )
}

#[test]
fn members_of_a_group_are_the_same_together_alone_and_among_others() {
    let reader = RunReader::open(run()).unwrap();
    let mut replay = Replay::open(run()).unwrap();
    replay.finish().unwrap();
    let (view, blobs) = (replay.world().view(), reader.blobs());
    let (iteration, weights) = published(&view, Some(1)).expect("nano publishes");
    let held_out = view.tasks().filter(|(_, task)| matches!(task.source, TaskSource::HeldOut { .. }));
    let subjects: Vec<_> =
        held_out.take(4).map(|(id, _)| subject::load(&view, &blobs, id).unwrap()).collect();
    let group = |subject: &Arc<Subject>| {
        let subject = Arc::clone(subject);
        (0..MEMBERS).map(move |member| Assignment {
            subject: Arc::clone(&subject),
            purpose: Purpose::Evaluation,
            iteration,
            version: Version(0),
            visit: Visit(77),
            member: Member(member),
            // Cold enough for members to go together for a while, warm enough for them to part.
            temperature: 0.6,
        })
    };
    let in_order: Vec<Assignment> = subjects.iter().flat_map(group).collect();
    let play = |threads, assignments: &[Assignment]| {
        let assembly = drive::assembled(&nano().scenario, &drive::on_threads(threads));
        assembly.players.play_by(weights, &blobs, assignments).unwrap()
    };
    let together = play(1, &in_order);
    assert!(some_part_late(&together), "they share no slot, or never leave it: nothing is tested");
    let expected: Vec<_> = together.iter().map(spelt).collect();

    let alone: Vec<_> =
        in_order.iter().flat_map(|one| play(1, std::slice::from_ref(one))).map(|it| spelt(&it)).collect();
    assert_eq!(alone, expected);
    for threads in [2, 3] {
        let dealt: Vec<_> = play(threads, &in_order).iter().map(spelt).collect();
        assert_eq!(dealt, expected, "{threads} lanes");
    }

    let mut no_two_neighbours_of_one_group = in_order;
    no_two_neighbours_of_one_group.sort_by_key(|assignment| assignment.member);
    let mut scattered: Vec<_> = play(2, &no_two_neighbours_of_one_group).iter().map(spelt).collect();
    scattered.sort();
    let mut sorted = expected;
    sorted.sort();
    assert_eq!(scattered, sorted);
}
