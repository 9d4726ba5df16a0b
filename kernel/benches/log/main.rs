//! What the log costs, in processor time: appending, scanning, folding, seeking. `cargo bench -p tadpole-kernel`.
//!
//! The run is made up: as many trajectories as a full run has, of the size that they have there. Another run is measured with
//! `cargo bench -p tadpole-kernel -- RUN`; its keyframes are made where it lacks them. Processor time of the one thread that
//! works is measured, not the clock (no harness for benchmarks offers that): figures hold on a machine that is busy with
//! something else, and leave out waiting for a disk.
#![allow(clippy::unwrap_used, reason = "benchmarks fail by panicking")]

mod run;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cpu_time::ThreadTime;
use tadpole_kernel::draws::DrawCount;
use tadpole_kernel::id::{Digest, Sequence, Step};
use tadpole_kernel::keyframe::{self, Spacing};
use tadpole_kernel::log::{Position, Sealed, Tail, Writer, genesis};
use tadpole_kernel::replay::Replay;
use tadpole_kernel::run::RunReader;
use tadpole_kernel::storage::Disk;

fn main() {
    append();
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let made = given.is_none().then(run::full);
    let dir = made.as_ref().map_or_else(|| PathBuf::from(given.unwrap_or_default()), |(_, dir)| dir.clone());
    read(&dir);
}

/// Processor times of `count` rounds, ascending.
fn times(count: u64, mut round: impl FnMut(u64)) -> Vec<Duration> {
    let time = |index| {
        let start = ThreadTime::now();
        round(index);
        start.elapsed()
    };
    let mut times: Vec<_> = (0..count).map(time).collect();
    times.sort_unstable();
    times
}

fn report(name: &str, times: &[Duration], amount: f64, unit: &str) {
    let (median, low, high) = (times[times.len() / 2], times[0], times[times.len() * 9 / 10]);
    let rate = amount / median.as_secs_f64();
    println!(
        "{name:<44} median {median:>9.1?}, least {low:>9.1?}, 9 of 10 within {high:>9.1?}: {rate:>8.2} {unit}"
    );
}

fn append() {
    let bodies = run::bodies();
    let bytes: usize = bodies.iter().map(|(_, body)| body.len()).sum();
    let temp = tempfile::tempdir().unwrap();
    let run = Digest::of(b"bench");
    let position = Position { step: Step(0), sequence: Sequence(0), chain: genesis(run) };
    let tail = Tail { segment: None, length: 0, sealed: true, torn: None };
    let mut writer = Writer::open(Arc::new(Disk::new(temp.path())), run, position, &tail).unwrap();
    let times = times(300, |_| {
        let bodies = bodies.iter().map(|(schema, body)| (*schema, body.as_slice()));
        writer.commit(bodies, Digest::default(), DrawCount::default(), Sealed::No).unwrap();
    });
    println!("a group is {} events, {bytes} bytes", bodies.len());
    report("append a group, synced", &times, bodies.len() as f64 / 1e3, "thousand events/s");
}

fn read(dir: &Path) {
    let reader = RunReader::open(dir).unwrap();
    let totals = reader.totals().unwrap();
    let (gigabytes, events) = (run::log_bytes(dir) as f64 / 1e9, totals.events as f64 / 1e3);
    println!("the log is {gigabytes:.3} GB, {} steps, {} events", totals.steps, totals.events);
    let scans = times(15, |_| assert_eq!(reader.totals().unwrap(), totals));
    report("scan: both checksums and the chain", &scans, gigabytes, "GB/s");
    let scans = times(15, |_| assert!(reader.events().unwrap().all(|event| event.is_ok())));
    report("scan: and every event checked and decoded", &scans, gigabytes, "GB/s");
    let folds = times(9, |_| assert_eq!(Replay::open(dir).unwrap().finish().unwrap(), totals.last));
    report("fold, with the world digest of each step", &folds, events, "thousand events/s");
    keyframe::build(dir, Spacing::default(), |_| {}).unwrap();
    // A stride that no spacing divides, so that every distance to a keyframe comes up.
    let step = |index: u64| Step((index * 7_919 + 13) % totals.steps);
    let seeks = times(200, |index| {
        assert_eq!(Replay::seek(dir, step(index)).unwrap().last().unwrap().step, step(index))
    });
    report("seek to any step", &seeks, 1.0, "seeks/s");
}
