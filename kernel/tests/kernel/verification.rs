//! Verify finds what was forged, and nothing where nothing was.

use std::fs;

use tadpole_kernel::event::Event;
use tadpole_kernel::forge::{Worlds, forge, forge_bytes};
use tadpole_kernel::id::StableId;
use tadpole_kernel::replay::{Replay, ReplayError};
use tadpole_kernel::run::{RunHeader, RunReader};
use tadpole_kernel::verify::{Difference, Report, Sample, VerifyOptions, verify};

use crate::toy::{self, header, systems};

fn check(dir: &std::path::Path) -> Report {
    verify(dir, &header(), &systems(), &VerifyOptions::default(), |_| {}).unwrap()
}

#[test]
fn an_honest_run_verifies() {
    let (_temp, dir) = toy::finished();
    let before = toy::content(&dir);
    let report = check(&dir);
    assert_eq!(report.differences, []);
    assert_eq!(report.executed, report.steps);
    assert!(report.complete && report.out_of_reach.is_empty());
    assert_eq!(before, toy::content(&dir), "verify writes nothing");
}

#[test]
fn a_forged_field_is_named_with_step_event_and_both_values() {
    let (_temp, dir) = toy::finished();
    let (step, index) = toy::find(&dir, |event| matches!(event, Event::UpdateApplied(_)));
    let mut was = StableId(0);
    forge(&dir, step, index, Worlds::Recomputed, |event| {
        let Event::UpdateApplied(update) = event else { panic!("an update") };
        was = update.groups[1].task;
        update.groups[1].task = StableId(was.0 ^ 1);
    })
    .unwrap();
    Replay::open(&dir).unwrap().finish().unwrap();
    let report = check(&dir);
    let Difference::Event { step: found, system, index: place, name, fields, more, .. } =
        &report.differences[0]
    else {
        panic!("{:?}", report.differences)
    };
    assert_eq!((*found, *system, *place, *name, *more), (step, "train", index, "UpdateApplied", 0));
    assert_eq!(
        fields[0].to_string(),
        format!("groups[1].task: recorded {}, recomputed {}", was.0 ^ 1, was.0)
    );
    assert_eq!(report.differences.len(), 1, "what follows is decided from the log's events");
}

#[test]
fn a_forged_log_probability_is_found() {
    let (_temp, dir) = toy::finished();
    let (step, index) = toy::find(&dir, |event| matches!(event, Event::TrajectoryFinished(_)));
    forge(&dir, step, index, Worlds::Recomputed, |event| {
        let Event::TrajectoryFinished(it) = event else { panic!("a trajectory") };
        let value = &mut it.segments[0].log_probs[0];
        *value = f32::from_bits(value.to_bits() ^ 1);
    })
    .unwrap();
    let report = check(&dir);
    let text = report.differences[0].to_string();
    assert!(text.contains("segments[0].log_probs[0]") && text.contains(&format!("step {step}")), "{text}");
}

#[test]
fn worlds_that_were_not_forged_along_are_found_by_replay_and_verify() {
    let (_temp, dir) = toy::finished();
    let (step, index) = toy::find(&dir, |event| matches!(event, Event::CandidateCalibrated(_)));
    forge(&dir, step, index, Worlds::AsRecorded, |event| {
        let Event::CandidateCalibrated(it) = event else { panic!("a calibration") };
        it.passed += 1;
    })
    .unwrap();
    let error = Replay::open(&dir).unwrap().finish().unwrap_err();
    assert!(matches!(error, ReplayError::World { step: found, .. } if found == step), "{error}");
    let report = check(&dir);
    assert!(matches!(&report.differences[0], Difference::Event { fields, .. } if fields[0].path == "passed"));
    assert!(matches!(&report.differences[1], Difference::World { step: found, .. } if *found == step));
}

#[test]
fn every_event_of_a_run_can_be_forged_and_is_found() {
    let (_temp, dir) = toy::finished();
    let honest: Vec<_> = ["00000000", "00000001", "00000002"]
        .map(|name| dir.join(format!("log/{name}.seg")))
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .into();
    let run = RunReader::open(&dir).unwrap();
    let groups: Vec<_> = run.groups().unwrap().map(Result::unwrap).collect();
    for group in groups.iter().skip(1).step_by(5) {
        let (step, index) = (group.commit().step, group.len() - 1);
        forge(&dir, step, index, Worlds::Recomputed, lie).unwrap();
        let report = check(&dir);
        assert!(
            matches!(&report.differences[0], Difference::Event { step: found, index: place, .. } if (*found, *place) == (step, index)),
            "step {step}: {:?}",
            report.differences
        );
        for (path, bytes) in &honest {
            fs::write(path, bytes).unwrap();
        }
    }
    assert!(check(&dir).holds());
}

/// Changes one field of any event without leading a decision out of reach.
fn lie(event: &mut Event) {
    match event {
        Event::PolicyPublished(it) => it.averaged += 1,
        Event::TaskHeldOut(it) => it.set.push('!'),
        Event::IterationStarted(it) => it.policy = StableId(it.policy.0 + 1),
        Event::CandidateGenerated(it) => it.content.statement.push('!'),
        Event::CandidateValidated(it) => it.fail_to_pass.push("t::y".to_owned()),
        Event::CandidateRejected(it) => it.reason = tadpole_kernel::event::Rejection::Unstable,
        Event::CandidateCalibrated(it) => it.sampled += 1,
        Event::TaskAdmitted(it) => it.sampled += 1,
        Event::BatchClosed(it) => it.budget_spent = true,
        Event::TrajectoryFinished(it) => it.tool_calls += 1,
        Event::UpdateApplied(it) => it.kept += 1,
        Event::EvaluationFinished(it) => it.solved += 1,
        Event::EffectRecorded(it) => it.kind.push('!'),
        Event::IterationFinished(it) => it.iteration = it.iteration.next(),
        Event::RunFinished(it) => it.policy = it.policy.next(),
        Event::RunStarted(_) | Event::RunForked(_) | Event::UpdateRefused(_) => {
            panic!("not in the steps forged")
        }
    }
}

/// Padding, lengths and pointers included: whatever byte is changed, verification ends, and blames the event.
#[test]
fn any_byte_of_a_payload_can_be_forged_and_is_found() {
    let (_temp, dir) = toy::finished();
    let place = toy::find(&dir, |event| matches!(event, Event::TaskAdmitted(_)));
    let (step, index) = place;
    let path = dir.join("log/00000000.seg");
    let honest = fs::read(&path).unwrap();
    let others: Vec<_> = [1, 2].map(|index| dir.join(format!("log/{index:08}.seg"))).into();
    let rest: Vec<_> = others.iter().map(|path| fs::read(path).unwrap()).collect();
    let length =
        RunReader::open(&dir).unwrap().step(step).unwrap().unwrap().bodies().nth(index).unwrap().1.len();
    for at in 0..length {
        forge_bytes(&dir, step, index, Worlds::Recomputed, |body| body[at] ^= 0x11).unwrap();
        let report = check(&dir);
        let Difference::Event { step: found, index: blamed, fields, .. } = &report.differences[0] else {
            panic!("byte {at}: {:?}", report.differences)
        };
        assert_eq!((*found, *blamed), place);
        assert!(!fields.is_empty());
        fs::write(&path, &honest).unwrap();
        for (path, bytes) in others.iter().zip(&rest) {
            fs::write(path, bytes).unwrap();
        }
    }
}

#[test]
fn another_scenario_differs_at_step_zero() {
    let (_temp, dir) = toy::finished();
    let other = RunHeader { seed: 8, ..header() };
    let report = verify(&dir, &other, &systems(), &VerifyOptions::default(), |_| {}).unwrap();
    assert_eq!(
        report.differences[0].to_string(),
        "step 0: create decides another RunStarted (event 0 of the step, sequence 0)\n    seed: recorded 28, recomputed 8"
    );
}

#[test]
fn a_damaged_or_missing_blob_is_found() {
    let (_temp, dir) = toy::finished();
    let store = RunReader::open(&dir).unwrap().blob_store();
    let (step, _) = toy::find(&dir, |event| matches!(event, Event::PolicyPublished(_)));
    let weights = {
        let run = RunReader::open(&dir).unwrap();
        let group = run.step(step).unwrap().unwrap();
        group.events().next().unwrap().unwrap().blobs()[0]
    };
    assert!(store.contains(weights).unwrap());
    let hex = weights.to_hex();
    let path = dir.join(format!("blobs/{}/{}", &hex[..2], &hex[2..]));
    let mut bytes = fs::read(&path).unwrap();
    bytes[3] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let text = check(&dir).differences.last().unwrap().to_string();
    assert!(text.contains("corrupt") && text.contains(&hex), "{text}");
    fs::remove_file(&path).unwrap();
    let text = check(&dir).differences.last().unwrap().to_string();
    assert!(text.contains("missing"), "{text}");
}

#[test]
fn a_sample_checks_some_steps_and_trust_skips_systems() {
    let (_temp, dir) = toy::finished();
    let verify = |options: VerifyOptions| verify(&dir, &header(), &systems(), &options, |_| {}).unwrap();
    let half =
        verify(VerifyOptions { sample: Some(Sample { share: 0.5, seed: 1 }), ..VerifyOptions::default() });
    assert!(half.holds());
    assert!(
        half.executed > half.steps / 5 && half.executed < half.steps,
        "{} of {}",
        half.executed,
        half.steps
    );
    let trusting = verify(VerifyOptions { trusted: vec!["train"], ..VerifyOptions::default() });
    assert!(trusting.holds());
    assert_eq!(trusting.executed, trusting.steps - 8);
    assert!(trusting.out_of_reach.is_empty());
}

#[test]
fn an_interrupted_run_verifies_as_far_as_it_goes() {
    let (_temp, dir) = toy::place();
    let mut kernel =
        tadpole_kernel::driver::Kernel::create(&dir, toy::SCENARIO, header(), systems()).unwrap();
    for _ in 0..5 {
        kernel.step().unwrap();
    }
    let report = check(&dir);
    assert!(report.holds() && !report.complete);
    assert_eq!(report.steps, 6);
}
