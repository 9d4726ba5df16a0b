//! Recorded trajectories are proposals to whoever plays them again. Whatever they claim, what comes out is what the run
//! played: a lie is named as itself, with the truth beside it.

use std::path::Path;

use tadpole_kernel::event::{Event, Exit, Purpose, Span, Tokens, TrajectoryFinishedV1};
use tadpole_kernel::forge::{Worlds, forge, forge_step};
use tadpole_kernel::id::Step;
use tadpole_kernel::verify::{Difference, FieldDifference, VerifyOptions, field_differences, verify};
use tadpole_systems::assembly::Assembly;
use tadpole_systems::phase::name;
use tadpole_tests::nano::{nano, run};
use tadpole_tests::{bits, drive};

/// The last trajectory that ran a tool and was played beside at least two others, with its place.
fn victim() -> (Step, usize, TrajectoryFinishedV1) {
    let found = nano().events.iter().enumerate().rev().find_map(|(at, (commit, event))| match event {
        Event::TrajectoryFinished(it)
            if it.segments[0].sampled.len() > 1 && recorded(commit.step).len() > 2 =>
        {
            Some((at, commit.step, it.clone()))
        }
        _ => None,
    });
    let (at, step, it) = found.expect("an episode of two turns");
    let first = nano().events.iter().position(|(commit, _)| commit.step == step).unwrap();
    (step, at - first, it)
}

/// The events of a step of the honest run.
fn recorded(step: Step) -> Vec<Event> {
    let events = nano().events.iter();
    events.filter(|(commit, _)| commit.step == step).map(|(_, event)| event.clone()).collect()
}

/// What verification finds in the run at `directory` where it plays episodes like the victim again, and trusts all else.
fn differences(directory: &Path) -> Vec<Difference> {
    let played = match victim().2.purpose {
        Purpose::Calibration => name::CALIBRATE,
        Purpose::Rollout => name::ROLL_OUT,
        Purpose::Evaluation => name::EVALUATE,
    };
    let Assembly { systems, header, .. } = drive::assembled(&nano().scenario, &drive::on_threads(2));
    let trusted = systems.names().filter(|system| *system != played).collect();
    let options = VerifyOptions { sample: None, trusted };
    verify(directory, &header, &systems, &options, |_| {}).unwrap().differences
}

/// A copy of the run, to be forged.
fn copied() -> (tempfile::TempDir, std::path::PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    bits::copy(run(), &directory);
    (parent, directory)
}

/// All fields in which an event differs from another.
fn fields(recorded: &Event, honest: &Event) -> Vec<FieldDifference> {
    let json = |event| serde_json::to_value(event).unwrap();
    field_differences(&json(recorded), &json(honest))
}

/// Forges the victim, and requires that what differs is what was changed, and that beside it stands what the run played.
fn check(lie: &str, change: impl Fn(&mut TrajectoryFinishedV1)) {
    let (step, index, honest) = victim();
    let mut forged = honest.clone();
    change(&mut forged);
    let (forged, honest) = (Event::TrajectoryFinished(forged), Event::TrajectoryFinished(honest));
    assert_ne!(forged, honest, "{lie}: nothing was changed");
    let (_parent, directory) = copied();
    forge(&directory, step, index, Worlds::Recomputed, |event| *event = forged.clone()).unwrap();
    let found = differences(&directory);
    let [Difference::Event { step: at, index: place, fields: named, more, .. }, ..] = found.as_slice() else {
        panic!("{lie}: {found:?}")
    };
    assert_eq!((*at, *place), (step, index), "{lie}");
    let expected = fields(&forged, &honest);
    assert_eq!(named.as_slice(), &expected[..named.len()], "{lie}");
    assert_eq!(named.len() + more, expected.len(), "{lie}");
    assert_eq!(found.len(), 1, "{lie}: {found:?}");
}

/// Changes the token at `position`.
fn retoken(trajectory: &mut TrajectoryFinishedV1, position: usize, token: u16) {
    let Tokens::Narrow(tokens) = &mut trajectory.segments[0].tokens else { panic!("a small vocabulary") };
    tokens[position] = if tokens[position] == token { token + 1 } else { token };
}

#[test]
fn a_changed_token_is_found_wherever_it_stands() {
    let spans = victim().2.segments[0].sampled.clone();
    let (first, second) = (spans[0].start as usize, spans[1].start as usize);
    check("of the prompt", |it| retoken(it, 1, 300));
    check("the last of the prompt", |it| retoken(it, first - 1, 300));
    check("the first sampled", |it| retoken(it, first, 300));
    check("in the middle of a turn", |it| retoken(it, first + 2, 300));
    check("the end of a turn", |it| retoken(it, spans[0].end as usize - 1, 300));
    check("of a tool's output", |it| retoken(it, second - 2, 300));
    check("the last", |it| {
        let last = it.segments[0].tokens.len() - 1;
        retoken(it, last, 300);
    });
    check("beyond the vocabulary", |it| retoken(it, first + 1, u16::MAX - 1));
}

#[test]
fn a_history_that_never_was_is_found() {
    check("cut off within a turn", |it| {
        let segment = &mut it.segments[0];
        let end = segment.sampled[0].end - 1;
        segment.tokens = Tokens::pack(&segment.tokens.unpack()[..end as usize], 640);
        segment.sampled = vec![Span { end, ..segment.sampled[0] }];
        segment.log_probs.truncate(segment.sampled[0].end as usize - segment.sampled[0].start as usize);
    });
    check("longer than it was", |it| {
        let segment = &mut it.segments[0];
        let end = segment.tokens.len() as u32;
        let longer = [segment.tokens.unpack(), vec![5; 700]].concat();
        segment.tokens = Tokens::pack(&longer, 640);
        segment.sampled.push(Span { start: end, end: end + 700 });
        segment.log_probs.extend([-0.5; 700]);
    });
    check("spans that make no sense", |it| {
        let spans = &mut it.segments[0].sampled;
        spans[0].end = u32::MAX;
    });
    check("spans of nothing", |it| it.segments[0].sampled.clear());
    check("without a history", |it| it.segments.clear());
}

#[test]
fn what_is_not_a_token_is_recomputed_as_well() {
    check("log-probability", |it| {
        let last = it.segments[0].log_probs.last_mut().unwrap();
        *last = f32::from_bits(last.to_bits() ^ 1);
    });
    check("reward", |it| it.reward += 0.25);
    check("raw reward", |it| it.raw_reward += 0.25);
    check("entropy", |it| it.entropy = f32::from_bits(it.entropy.to_bits() ^ 1));
    check("tool calls", |it| it.tool_calls += 1);
    check("exit", |it| it.exit = if it.exit == Exit::Final { Exit::MaxTurns } else { Exit::Final });
    check("facts", |it| it.facts.ran_tests ^= true);
}

#[test]
fn a_trajectory_that_is_dropped_or_stands_elsewhere_is_missed() {
    let (step, _, _) = victim();
    let honest = recorded(step);
    assert!(honest.len() > 2);

    let (_parent, directory) = copied();
    forge_step(&directory, step, Worlds::Recomputed, |events| drop(events.remove(1))).unwrap();
    let found = differences(&directory);
    let gone = |it: &Difference| matches!(it, Difference::Count { step: at, recorded, recomputed, .. } if *at == step && *recorded + 1 == *recomputed && *recomputed == honest.len());
    assert!(found.iter().any(gone), "{found:?}");
    let first = found.iter().find_map(|it| match it {
        Difference::Event { index, fields, .. } => Some((*index, fields.clone())),
        _ => None,
    });
    let expected: Vec<_> = fields(&honest[2], &honest[1]).into_iter().take(8).collect();
    assert_eq!(first, Some((1, expected)), "the second is the first that is not as recorded");

    let (_parent, directory) = copied();
    forge_step(&directory, step, Worlds::Recomputed, |events| events.swap(0, 2)).unwrap();
    let found: Vec<(usize, Vec<FieldDifference>)> = differences(&directory)
        .into_iter()
        .filter_map(|it| match it {
            Difference::Event { step: at, index, fields, .. } if at == step => Some((index, fields)),
            _ => None,
        })
        .collect();
    let expected = |recorded: usize, played: usize| {
        (played, fields(&honest[recorded], &honest[played]).into_iter().take(8).collect::<Vec<_>>())
    };
    assert_eq!(found, [expected(2, 0), expected(0, 2)]);
}

#[test]
fn one_claim_twice_is_one_too_many() {
    let (step, index, honest) = victim();
    let (_parent, directory) = copied();
    let mut double = honest;
    retoken(&mut double, 2, 300);
    forge_step(&directory, step, Worlds::Recomputed, |events| {
        events.insert(index + 1, Event::TrajectoryFinished(double));
    })
    .unwrap();
    let found = differences(&directory);
    let too_many = |it: &Difference| matches!(it, Difference::Count { step: at, recorded, recomputed, .. } if *at == step && *recorded == *recomputed + 1);
    assert!(found.iter().any(too_many), "{found:?}");
}
