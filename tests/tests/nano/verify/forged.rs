//! One byte of one event is changed, and every checksum, chain hash and world digest behind it is made to fit.

use std::path::Path;

use tadpole_kernel::event::Event;
use tadpole_kernel::forge::{Worlds, forge};
use tadpole_kernel::id::Step;
use tadpole_kernel::verify::{Difference, VerifyOptions, verify};
use tadpole_systems::assembly::Assembly;
use tadpole_tests::nano::{nano, run};
use tadpole_tests::{binary, bits, drive};

/// A lie: the kind of event, the field, and how it is changed.
type Lie = (&'static str, &'static str, fn(&mut Event));

macro_rules! lie {
    ($kind:ident, $field:literal, |$event:ident| $change:expr) => {
        (stringify!($kind), $field, |event: &mut Event| {
            let Event::$kind($event) = event else { panic!("{} is no {}", event.name(), stringify!($kind)) };
            $change;
        })
    };
}

/// One lie for every kind of event that nano has.
const LIES: &[Lie] = &[
    lie!(RunStarted, "iterations", |event| event.iterations ^= 4),
    lie!(PolicyPublished, "averaged", |event| event.averaged ^= 2),
    lie!(TaskHeldOut, "content.statement", |event| event.content.statement =
        altered(&event.content.statement)),
    lie!(IterationStarted, "policy", |event| event.policy.0 ^= 1),
    lie!(CandidateGenerated, "content.origin.level", |event| event.content.origin.level ^= 1),
    lie!(CandidateValidated, "fail_to_pass[0]", |event| event.fail_to_pass[0] =
        altered(&event.fail_to_pass[0])),
    lie!(CandidateRejected, "candidate", |event| event.candidate.0 ^= 1),
    lie!(CandidateCalibrated, "passed", |event| event.passed ^= 1),
    lie!(TaskAdmitted, "in_band", |event| event.in_band ^= true),
    lie!(BatchClosed, "budget_spent", |event| event.budget_spent ^= true),
    lie!(TrajectoryFinished, "segments[0].log_probs[0]", |event| {
        let value = &mut event.segments[0].log_probs[0];
        *value = f32::from_bits(value.to_bits() ^ 1);
    }),
    lie!(UpdateApplied, "loss", |event| event.loss = f64::from_bits(event.loss.to_bits() ^ 1)),
    lie!(EvaluationFinished, "solved", |event| event.solved ^= 1),
    lie!(IterationFinished, "iteration", |event| event.iteration.0 ^= 4),
    lie!(RunFinished, "policy", |event| event.policy.0 ^= 1),
];

/// The text with its last character another one.
fn altered(text: &str) -> String {
    let mut text = text.to_owned();
    let last = text.pop().expect("not empty");
    text.push(if last == 'x' { 'y' } else { 'x' });
    text
}

/// Step and index of the last event of a kind.
fn last_of(kind: &str) -> (Step, usize) {
    let events = &nano().events;
    let at = events.iter().rposition(|(_, event)| event.name() == kind).expect(kind);
    let step = events[at].0.step;
    let first = events.iter().position(|(commit, _)| commit.step == step).expect("its own step");
    (step, at - first)
}

/// Tells a lie about event `index` of `step`, in exactly one byte of its body.
fn tell(directory: &Path, (step, index): (Step, usize), change: fn(&mut Event)) {
    forge(directory, step, index, Worlds::Recomputed, |event| {
        let before = event.encode().unwrap();
        change(event);
        let after = event.encode().unwrap();
        assert_eq!(before.len(), after.len(), "{}", event.name());
        assert_eq!(
            before.iter().zip(after.iter()).filter(|(was, is)| was != is).count(),
            1,
            "{}",
            event.name()
        );
    })
    .unwrap();
}

#[test]
fn there_is_a_lie_for_every_kind_of_event_that_happens() {
    let told = LIES.iter().map(|(kind, _, _)| *kind).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(told, nano().events.iter().map(|(_, event)| event.name()).collect());
}

#[test]
fn every_lie_is_found_with_step_event_and_field() {
    let Assembly { systems, header, .. } = drive::assembled(&nano().scenario, &drive::on_threads(2));
    let parent = tempfile::tempdir().unwrap();
    for (kind, field, change) in LIES {
        let directory = parent.path().join(kind);
        bits::copy(run(), &directory);
        let place = last_of(kind);
        tell(&directory, place, *change);
        // Deciding only where the lie was told again is what keeps this short: see below for a whole run.
        let teller = nano_system(place.0);
        let trusted = systems.names().filter(|name| *name != teller).collect();
        let options = VerifyOptions { sample: None, trusted };
        let report = verify(&directory, &header, &systems, &options, |_| {}).unwrap();
        assert!(!report.holds(), "{kind}: the lie was believed");
        let found = report.differences.iter().any(|difference| names(difference, place, kind, field));
        assert!(found, "{kind} of {place:?}, {field}: {:#?}", report.differences);
        let first = report.differences.iter().map(Difference::step).min();
        assert_eq!(first, Some(place.0), "{kind}: nothing before the lie differs");
    }
}

/// The system that decided a step of nano.
fn nano_system(step: Step) -> &'static str {
    let Assembly { systems, .. } = drive::assembled(&nano().scenario, &drive::on_threads(1));
    let before =
        nano().events.iter().take_while(|(commit, _)| commit.step < step).map(|(_, event)| event.clone());
    let world = tadpole_kernel::forge::world_of(before);
    systems.next(&world.view()).unwrap_or("create")
}

fn names(difference: &Difference, place: (Step, usize), kind: &str, field: &str) -> bool {
    match difference {
        Difference::Event { step, index, name, fields, .. } => {
            (*step, *index) == place && *name == kind && fields.iter().any(|it| it.path == field)
        }
        _ => false,
    }
}

#[test]
fn the_command_names_step_event_and_field_of_a_lie_and_fails() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    bits::copy(run(), &directory);
    let place = last_of("TrajectoryFinished");
    let (_, field, change) = LIES.iter().find(|(kind, _, _)| *kind == "TrajectoryFinished").unwrap();
    tell(&directory, place, *change);
    let directory = directory.to_str().unwrap();
    assert_eq!(binary::run(["replay", directory, "--json"]).code, 0, "only re-execution finds it");
    let report = binary::run(["verify", directory, "--json"]);
    assert_eq!(report.code, 1, "{report}");
    let report = report.json();
    let differences = report["differences"].as_array().expect("a list");
    assert_eq!(differences.len(), 1, "{report}");
    assert_eq!(differences[0]["step"], place.0.0);
    assert_eq!(differences[0]["index"], place.1);
    assert_eq!(differences[0]["event"], "TrajectoryFinished");
    assert_eq!(differences[0]["field"], *field);
    let shown = binary::run(["verify", directory]);
    assert_eq!(shown.code, 1, "{shown}");
    for part in [place.0.to_string().as_str(), "TrajectoryFinished", field] {
        assert!(shown.stdout.contains(part) || shown.stderr.contains(part), "{part}: {shown}");
    }
}
