//! The log beside three well-kept stores, doing the same job in one run: append groups of events, each durable before the next,
//! then scan all of them. `cd benches/peers && cargo run --release`.
//!
//! Each store is asked to make a group durable by a sync of its data before it returns, and scans with the checks that it has:
//! the log checks two checksums a frame and the hash chain, fjall a checksum a block, redb and SQLite none. Processor time is
//! that of all threads, so that work in the background counts.

mod store;

use std::error::Error;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use store::{Fjall, Log, Redb, Sqlite, Store};

const GROUPS: usize = 300;
const GROUP: usize = 64;
/// The mean of a full run.
const BODY: usize = 1_400;
const SCANS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let groups: Vec<Vec<Vec<u8>>> = (0..GROUPS).map(group).collect();
    println!(
        "{GROUPS} groups of {GROUP} events of {BODY} bytes; processor time an event, clock time a group"
    );
    println!(
        "{:<8} {:>14} {:>16} {:>14} {:>14}",
        "store", "append us/ev", "append ms/group", "scan us/ev", "scan GB/s"
    );
    measure::<Log>("log", &groups)?;
    measure::<Redb>("redb", &groups)?;
    measure::<Fjall>("fjall", &groups)?;
    measure::<Sqlite>("SQLite", &groups)?;
    Ok(())
}

/// Bytes that do not compress, the same for every store.
fn group(index: usize) -> Vec<Vec<u8>> {
    let mut state = index as u64 + 1;
    let mut word = || {
        // SplitMix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)).to_le_bytes()
    };
    (0..GROUP).map(|_| (0..BODY / 8).flat_map(|_| word()).collect()).collect()
}

fn measure<S: Store>(name: &str, groups: &[Vec<Vec<u8>>]) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir_in(".")?;
    let mut store = S::open(directory.path())?;
    let (clock, processor) = (Instant::now(), ProcessTime::now());
    for group in groups {
        store.append(group)?;
    }
    let (clock, processor) = (clock.elapsed(), processor.elapsed());
    let events = (GROUPS * GROUP) as f64;
    let mut scans = Vec::new();
    for _ in 0..SCANS {
        let start = ProcessTime::now();
        let bytes = store.scan()?;
        scans.push(start.elapsed());
        if bytes != GROUPS * GROUP * BODY {
            return Err(format!("{name} scanned {bytes} bytes").into());
        }
    }
    scans.sort_unstable();
    let scan = scans[SCANS / 2];
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!(
        "{name:<8} {:>14.2} {:>16.2} {:>14.3} {:>14.2}",
        micros(processor) / events,
        micros(clock) / GROUPS as f64 / 1e3,
        micros(scan) / events,
        events * BODY as f64 / scan.as_secs_f64() / 1e9
    );
    Ok(())
}
