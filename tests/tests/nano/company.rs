//! An episode is the same whoever is played beside it.

use std::collections::BTreeSet;
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

/// Members of a group: more than a lane plays together.
const MEMBERS: u32 = 11;

/// What tells episodes apart, to the bit.
fn bits(played: &Played) -> (StableId, Member, Vec<u32>, Vec<u32>, u32, u64) {
    let [segment] = played.segments.as_slice() else { panic!("one segment each") };
    let log_probs = segment.log_probs.iter().map(|it| it.to_bits()).collect();
    let Assignment { subject, member, .. } = &played.assignment;
    (subject.id, *member, segment.tokens.unpack(), log_probs, played.entropy.to_bits(), played.draws.values)
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
        held_out.take(3).map(|(id, _)| subject::load(&view, &blobs, id).unwrap()).collect();
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
    let mut together: Vec<Assignment> = subjects.iter().flat_map(group).collect();
    let assembly = drive::assembled(&nano().scenario, &drive::on_threads(1));
    let play = |assignments: &[Assignment]| -> Vec<_> {
        let played = assembly.players.play_by(weights, &blobs, assignments).unwrap();
        played.iter().map(bits).collect()
    };
    let expected = play(&together);
    let alone: Vec<_> = together.iter().flat_map(|one| play(std::slice::from_ref(one))).collect();
    assert_eq!(alone, expected);

    // No two neighbours are of one group.
    together.sort_by_key(|assignment| assignment.member);
    let mut among_others = play(&together);
    among_others.sort_by_key(|(subject, member, ..)| (*subject, *member));
    let mut in_order = expected;
    in_order.sort_by_key(|(subject, member, ..)| (*subject, *member));
    assert_eq!(among_others, in_order);

    let distinct = |length: usize| {
        let begun = in_order.iter().map(|(_, _, tokens, ..)| tokens.get(..length).unwrap_or(tokens));
        begun.collect::<BTreeSet<_>>().len()
    };
    let opening = in_order.iter().map(|(_, _, tokens, ..)| tokens.len()).min().unwrap() / 2;
    assert!(distinct(opening) < in_order.len(), "no two of them go together for a while");
    assert!(distinct(usize::MAX) > subjects.len(), "none of them part");
}
