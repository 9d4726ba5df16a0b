//! What may go wrong with a system, and what the kernel makes of it.

use bevy_ecs::prelude::{Commands, Local, Res, Resource};
use tadpole_kernel::decide::{DecideError, DecideResult, Decision, Proposal, Systems, Undecided};
use tadpole_kernel::driver::{Kernel, KernelError};
use tadpole_kernel::event::{CandidateRejectedV1, Event, PolicyPublishedV1, Rejection, UpdateRefusedV1};
use tadpole_kernel::id::{Digest, Iteration, StableId};
use tadpole_kernel::run::RunReader;
use tadpole_kernel::verify::{VerifyOptions, verify};
use tadpole_kernel::world::{Phase, WorldView};

use crate::toy::{self, SCENARIO, header};

fn kernel(configure: impl FnOnce(&mut Systems)) -> (tempfile::TempDir, Kernel) {
    let (temp, dir) = toy::place();
    let mut systems = Systems::new(|_| Some("only"));
    configure(&mut systems);
    (temp, Kernel::create(dir, SCENARIO, header(), systems).unwrap())
}

fn something() -> Decision {
    let mut decision = Decision::new();
    decision.push(Event::CandidateRejected(CandidateRejectedV1 {
        candidate: StableId(9),
        reason: Rejection::Unstable,
    }));
    decision
}

fn undecided(result: Result<Option<tadpole_kernel::driver::Committed>, KernelError>) -> Undecided {
    match result.unwrap_err() {
        KernelError::Undecided(undecided) => undecided,
        other => panic!("{other}"),
    }
}

#[test]
fn a_panic_poisons_the_run() {
    let (temp, mut kernel) = kernel(|systems| {
        systems.add("only", |_: WorldView| -> DecideResult { panic!("out of cheese") });
    });
    let error = undecided(kernel.step());
    assert!(
        matches!(&error, Undecided::Panicked { system: "only", message } if message == "out of cheese"),
        "{error}"
    );
    assert!(matches!(kernel.step().unwrap_err(), KernelError::Poisoned));
    assert_eq!(RunReader::open(temp.path().join("run")).unwrap().totals().unwrap().steps, 1);
}

#[test]
fn a_failure_of_the_machine_commits_nothing_and_may_be_tried_again() {
    #[derive(Resource, Clone)]
    struct Attempts(std::sync::Arc<std::sync::atomic::AtomicU32>);
    let (_temp, mut kernel) = kernel(|systems| {
        systems.provide(Attempts(std::sync::Arc::default()));
        systems.add("only", |attempts: Res<Attempts>| -> DecideResult {
            match attempts.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                0 => Err(DecideError::new("worker 3 died")),
                _ => Ok(something()),
            }
        });
    });
    let error = undecided(kernel.step());
    assert_eq!(error.to_string(), "system only: worker 3 died");
    assert_eq!(kernel.next_step().0, 1);
    assert_eq!(kernel.step().unwrap().unwrap().events.len(), 1);
}

#[test]
fn a_decision_without_events_is_refused() {
    let (_temp, mut kernel) = kernel(|systems| {
        systems.add("only", |_: WorldView| -> DecideResult { Ok(Decision::new()) });
    });
    assert!(matches!(undecided(kernel.step()), Undecided::Empty { system: "only" }));
}

#[test]
fn deferred_changes_are_refused() {
    let (_temp, mut kernel) = kernel(|systems| {
        systems.add("only", |mut commands: Commands| -> DecideResult {
            commands.spawn_empty();
            Ok(something())
        });
    });
    assert!(matches!(undecided(kernel.step()), Undecided::Deferred { system: "only" }));
}

#[test]
fn a_missing_system_or_capability_is_named() {
    #[derive(Resource, Clone)]
    struct Engine;
    let (_temp, mut unnamed) = kernel(|_| {});
    assert!(matches!(undecided(unnamed.step()), Undecided::Unknown { system: "only" }));
    let (_temp, mut without) = kernel(|systems| {
        systems.add("only", |_: Res<Engine>| -> DecideResult { Ok(something()) });
    });
    let error = undecided(without.step());
    assert!(matches!(error, Undecided::Refused { .. } | Undecided::Panicked { .. }), "{error}");
}

#[test]
fn a_system_remembers_nothing_from_step_to_step() {
    let (_temp, mut kernel) = kernel(|systems| {
        systems.add("only", |mut times: Local<u64>| -> DecideResult {
            *times += 1;
            assert_eq!(*times, 1);
            Ok(something())
        });
    });
    for _ in 0..3 {
        kernel.step().unwrap();
    }
}

#[test]
fn floats_that_are_not_finite_are_refused() {
    for bad in [f32::NAN, f32::INFINITY] {
        let (_temp, mut kernel) = kernel(|systems| {
            systems.add("only", move |_: WorldView| -> DecideResult {
                let mut decision = Decision::new();
                for mut event in crate::samples::all() {
                    if let Event::UpdateApplied(update) = &mut event {
                        update.gradient_norm = bad;
                        decision.push(event);
                    }
                }
                Ok(decision)
            });
        });
        let error = kernel.step().unwrap_err();
        assert_eq!(error.to_string(), "system only: UpdateApplied holds a float that is not finite");
    }
}

#[test]
fn a_named_blob_must_exist_and_an_unnamed_one_is_not_kept() {
    let (_temp, mut missing) = kernel(|systems| {
        systems.add("only", |_: WorldView| -> DecideResult {
            let mut decision = Decision::new();
            let weights = Digest::of(b"nowhere");
            let (policy, iteration) = (StableId(1), Iteration(0));
            decision.push(Event::PolicyPublished(PolicyPublishedV1 {
                policy,
                iteration,
                weights,
                averaged: 1,
            }));
            Ok(decision)
        });
    });
    assert!(matches!(missing.step().unwrap_err(), KernelError::MissingBlob { event: "PolicyPublished", .. }));
    let (temp, mut unnamed) = kernel(|systems| {
        systems.add("only", |_: WorldView| -> DecideResult {
            let mut decision = something();
            decision.blob(vec![1; 10]);
            Ok(decision)
        });
    });
    unnamed.step().unwrap();
    assert!(RunReader::open(temp.path().join("run")).unwrap().blob_store().list().unwrap().is_empty());
}

#[test]
fn a_refused_update_ends_the_run() {
    let (temp, dir) = toy::place();
    let mut systems = Systems::new(|view| (view.progress().phase != Phase::Refused).then_some("only"));
    systems.add("only", |_: WorldView| -> DecideResult {
        let mut decision = Decision::new();
        let (iteration, update) = (Iteration(1), 0);
        let reason = "a trainable token has q = 0".to_owned();
        decision.push(Event::UpdateRefused(UpdateRefusedV1 { iteration, update, reason }));
        Ok(decision)
    });
    let mut kernel = Kernel::create(dir, SCENARIO, header(), systems).unwrap();
    assert_eq!(kernel.run(|_| {}).unwrap(), 1);
    assert_eq!(kernel.view().progress().phase, Phase::Refused);
    drop(temp);
}

#[test]
fn what_the_log_says_is_proposed_to_whoever_decides_again_and_nothing_to_whoever_decides() {
    let seen: std::sync::Arc<std::sync::Mutex<Vec<Vec<Event>>>> = std::sync::Arc::default();
    let watching = |systems: &mut Systems| {
        let seen = std::sync::Arc::clone(&seen);
        systems.add("only", move |proposal: Res<Proposal>| -> DecideResult {
            seen.lock().unwrap().push(proposal.events().to_vec());
            Ok(something())
        });
    };
    let (temp, mut kernel) = kernel(watching);
    kernel.step().unwrap();
    kernel.step().unwrap();
    assert_eq!(std::mem::take(&mut *seen.lock().unwrap()), [vec![], vec![]]);
    let mut systems = Systems::new(|_| Some("only"));
    watching(&mut systems);
    let report = verify(temp.path().join("run"), &header(), &systems, &VerifyOptions::default(), |_| {});
    assert!(report.unwrap().holds());
    let recorded = something().events;
    assert_eq!(*seen.lock().unwrap(), [recorded.clone(), recorded]);
}
