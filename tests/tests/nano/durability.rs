//! What a run survives: every operation on the medium as the one at which the power fails or the process ends.
//!
//! The operations, the states they leave and what comes of them are real; the decisions are those of one run, recited, but
//! for a share that is decided again. What is decided is a function of the world, and the world of the log: that is what
//! `resume.rs` shows, with real processes.

use tadpole_kernel::storage::faulty::{Fault, Machine, Point, Survival};
use tadpole_tests::machine::{Recorded, Rig, assert_same, recorded};
use tadpole_tests::nano::run;

/// What the end of a process or of the power leaves.
#[derive(Clone, Copy, Debug)]
enum End {
    Process,
    Power(Survival),
}

impl End {
    /// One of five, of which two keep something; `seed` says what.
    fn of(index: u64, seed: u64) -> Self {
        match index % 5 {
            0 => Self::Process,
            1 => Self::Power(Survival::Nothing),
            2 => Self::Power(Survival::Everything),
            _ => Self::Power(Survival::Something(seed)),
        }
    }

    fn befall(self, machine: &Machine) {
        match self {
            Self::Process => machine.restart_process(),
            Self::Power(survival) => machine.power_cycle(survival),
        }
    }
}

fn ended(point: &Point, end: End) -> Rig {
    let rig = Rig::over(Machine::at(point), &recorded().scenario);
    end.befall(&rig.machine);
    rig
}

#[test]
fn the_machine_in_memory_runs_nano_to_the_bytes_of_the_disk() {
    let content = recorded().contents.last().unwrap();
    for (name, bytes) in content {
        let on_disk = std::fs::read(run().join(name)).unwrap();
        assert!(on_disk == **bytes, "{name} differs");
    }
    let count = |part| content.keys().filter(|name| name.starts_with(part)).count();
    assert_eq!(std::fs::read_dir(run().join("log")).unwrap().count(), count("log/"));
}

/// It ends, goes on, ends at one of its next operations, and goes on again. Two steps later its content must be that of the
/// uninterrupted run at the same step, on which alone depends what follows; one in 64 goes to the end.
#[test]
fn nano_that_ends_at_any_operation_goes_on_to_the_same_bytes() {
    let Recorded { script, points, contents, .. } = recorded();
    assert!(points.len() > 300, "{} points", points.len());
    let mut seed = 0;
    for point in points {
        for index in 0..5 {
            seed += 1;
            let (first, second) = (End::of(index, seed), End::of(seed / 5, !seed));
            let what = format!(
                "{:?} of {}, halfway {}, {first:?}, {second:?}, {seed}",
                point.operation, point.name, point.halfway
            );
            let rig = ended(point, first);
            rig.machine.plan(seed % 31, Fault::Stop);
            let went = rig.recite(script, 3);
            assert_eq!(went.is_err(), !rig.machine.is_pending(), "{what}: {went:?}");
            second.befall(&rig.machine);
            let steps = if seed.is_multiple_of(64) { u64::MAX } else { 1 };
            let next = rig.recite(script, steps).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_same(&what, &rig.content(), &contents[next as usize]);
        }
    }
}

#[test]
fn a_share_of_them_decides_everything_again() {
    let Recorded { points, contents, .. } = recorded();
    for (seed, point) in (0..).zip(points.iter().step_by(points.len() / 5)) {
        let rig = ended(point, End::of(seed, seed));
        rig.finish();
        assert_same(
            &format!("{:?} of {}", point.operation, point.name),
            &rig.content(),
            contents.last().unwrap(),
        );
    }
}
