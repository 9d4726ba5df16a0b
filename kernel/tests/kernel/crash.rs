//! Whatever the machine does, the run ends with the bytes of one that nothing happened to.

use std::collections::BTreeSet;

use tadpole_kernel::driver::KernelError;
use tadpole_kernel::log::LogError;
use tadpole_kernel::storage::Storage;
use tadpole_kernel::storage::faulty::{Fault, Machine, Operation, Point, Survival};

use crate::rig::{Content, Rig, assert_same};

/// Every state that an uninterrupted run goes through, and its content by the step that comes next.
fn recorded() -> (Vec<Point>, Vec<Content>) {
    let rig = Rig::new();
    rig.machine.record();
    rig.create().unwrap();
    let mut kernel = rig.resume().unwrap();
    let mut contents = vec![Content::new(), rig.content()];
    while kernel.step().unwrap().is_some() {
        contents.push(rig.content());
    }
    rig.machine.sync_dir("").unwrap();
    (rig.machine.take_points(), contents)
}

/// What the end of a process or of the power leaves.
#[derive(Clone, Copy, Debug)]
enum End {
    Process,
    Power(Survival),
}

impl End {
    fn befall(self, machine: &Machine) {
        match self {
            Self::Process => machine.restart_process(),
            Self::Power(survival) => machine.power_cycle(survival),
        }
    }
}

/// Both ends of what can be left, and some between.
fn ends(seed: u64) -> Vec<End> {
    let some = (0..4).map(|draw| End::Power(Survival::Something(seed * 4 + draw)));
    [End::Process, End::Power(Survival::Nothing), End::Power(Survival::Everything)]
        .into_iter()
        .chain(some)
        .collect()
}

/// The run ends at `point`, and goes on; ends again at one of its next operations, and goes on.
///
/// Once its content is that of the uninterrupted run at the same step, what follows is the same: it depends on nothing
/// else. So it goes on for two steps, and now and then to the end.
fn interrupt(point: &Point, end: End, seed: u64, contents: &[Content]) {
    let what =
        format!("{:?} of {}, halfway {}, {end:?}, then {seed}", point.operation, point.name, point.halfway);
    let rig = Rig::over(Machine::at(point));
    end.befall(&rig.machine);
    rig.machine.plan(seed % 29, Fault::Stop);
    let reached = rig.drive(4);
    assert_eq!(reached.is_err(), !rig.machine.is_pending(), "{what}: {reached:?}");
    let again = ends(seed);
    again[seed as usize % again.len()].befall(&rig.machine);
    let steps = if seed.is_multiple_of(16) { u64::MAX } else { 2 };
    let next = rig.drive(steps).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_same(&what, &rig.content(), &contents[next as usize]);
}

#[test]
fn a_run_that_ends_at_any_operation_goes_on_to_the_same_bytes() {
    let (points, contents) = recorded();
    let operations: BTreeSet<Operation> = points.iter().map(|point| point.operation).collect();
    assert_eq!(operations.len(), 7, "all but truncation, which recovery alone does: {operations:?}");
    let mut seed = 0;
    for point in &points {
        for end in ends(seed) {
            interrupt(point, end, seed, &contents);
            seed += 1;
        }
    }
    assert!(points.len() > 300, "{} points", points.len());
}

#[test]
fn recovery_that_ends_at_any_operation_is_made_up_for() {
    let (points, contents) = recorded();
    let torn = points.iter().filter(|point| point.name.contains("log/") && point.halfway);
    for point in torn.step_by(7) {
        for operation in 0.. {
            for end in ends(operation) {
                let rig = Rig::over(Machine::at(point));
                rig.machine.power_cycle(Survival::Everything);
                rig.machine.plan(operation, Fault::StopHalfway);
                if rig.drive(0).is_ok() {
                    assert!(rig.machine.is_pending());
                    break;
                }
                end.befall(&rig.machine);
                let next = rig.drive(1).unwrap();
                let what = format!("{}, then operation {operation} of its recovery, {end:?}", point.name);
                assert_same(&what, &rig.content(), &contents[next as usize]);
            }
            let rig = Rig::over(Machine::at(point));
            rig.machine.power_cycle(Survival::Everything);
            rig.machine.plan(operation, Fault::Stop);
            if rig.drive(0).is_ok() {
                assert!(operation > 3, "recovery has operations");
                break;
            }
        }
    }
}

/// A sync that fails drops what it should have written, and no later sync tells. The process that goes on must not build
/// upon what is in the cache alone: when the power fails later, nothing that was committed may be gone.
#[test]
fn a_medium_that_fails_once_at_any_operation_costs_nothing() {
    let (_, contents) = recorded();
    let end = contents.last().unwrap();
    for operation in 0.. {
        let rig = Rig::created();
        rig.machine.plan(operation, Fault::Io);
        let outcome = rig.drive(u64::MAX);
        if rig.machine.is_pending() {
            assert!(operation > 150, "{operation} operations");
            break;
        }
        assert!(outcome.is_err(), "operation {operation} failed unnoticed");
        rig.machine.restart_process();
        let next = rig.drive(2).unwrap_or_else(|error| panic!("operation {operation}, reopened: {error}"));
        rig.power_cycle(Survival::Nothing);
        let kept =
            rig.resume().unwrap_or_else(|error| panic!("operation {operation}, after power loss: {error}"));
        assert_eq!(kept.next_step().0, next, "operation {operation}");
        drop(kept);
        rig.finish();
        assert_same(&format!("operation {operation}"), &rig.content(), end);
    }
}

#[test]
fn a_full_medium_stops_the_run_and_costs_nothing() {
    let (_, contents) = recorded();
    for operation in 0.. {
        let rig = Rig::created();
        rig.machine.plan(operation, Fault::NoSpace);
        let outcome = rig.drive(u64::MAX);
        if rig.machine.is_pending() {
            break;
        }
        let Err(error) = outcome else {
            panic!("operation {operation}: nothing was written for want of space")
        };
        assert!(!matches!(error, KernelError::Poisoned));
        // Still full: whether or not that is enough to open the run, nothing is lost by trying.
        rig.machine.restart_process();
        rig.machine.plan(0, Fault::NoSpace);
        let tried = rig.drive(u64::MAX);
        assert!(tried.is_err(), "operation {operation}");
        rig.power_cycle(Survival::Something(operation));
        rig.finish();
        assert_same(&format!("operation {operation}"), &rig.content(), contents.last().unwrap());
    }
}

#[test]
fn a_read_that_fails_is_an_error_and_never_taken_for_absence_or_damage() {
    let (_, contents) = recorded();
    let reads = (0..).take_while(|&read| {
        let rig = Rig::created();
        let begun = rig.drive(12).unwrap();
        rig.machine.plan_read(read);
        let outcome = rig.drive(8);
        if rig.machine.is_pending() {
            return false;
        }
        assert!(outcome.is_err(), "read {read} failed unnoticed");
        rig.machine.restart_process();
        let next = rig.drive(1).unwrap();
        assert!(next > begun);
        assert_same(&format!("read {read}"), &rig.content(), &contents[next as usize]);
        true
    });
    assert!(reads.count() > 30);
}

#[test]
fn the_first_failure_to_write_is_the_last() {
    let mut poisoned = 0;
    for operation in 4..44 {
        let rig = Rig::created();
        rig.machine.plan(operation, Fault::Io);
        let Ok(mut kernel) = rig.resume() else { continue };
        let first = loop {
            if let Err(error) = kernel.step() {
                break error;
            }
        };
        let second = kernel.step().unwrap_err();
        match first {
            // Storing an answer failed: the store refuses from then on, so the step can only fail again.
            KernelError::Undecided(_) => assert!(matches!(second, KernelError::Undecided(_))),
            KernelError::Poisoned => panic!("poisoned by nothing"),
            _ => {
                assert!(matches!(second, KernelError::Poisoned));
                poisoned += 1;
            }
        }
    }
    assert!(poisoned > 10, "{poisoned}");
}

#[test]
fn what_fails_is_named() {
    let errors: Vec<_> = (0..60)
        .map(|operation| {
            let rig = Rig::created();
            rig.machine.plan(operation, Fault::Io);
            rig.drive(u64::MAX).unwrap_err()
        })
        .collect();
    assert!(errors.iter().any(|error| matches!(error, KernelError::Log(LogError::Io(_)))));
    assert!(errors.iter().any(|error| matches!(error, KernelError::Blob(_))));
}
