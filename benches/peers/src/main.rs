//! The log beside three well-kept stores, doing the same job in one run: append groups of events, each durable before the next,
//! then scan all of them. `cd benches/peers && cargo run --release`.
//!
//! Each store is asked to make a group durable by a sync of its data before it returns, and scans with the checks that it has:
//! the log checks two checksums a frame and the hash chain, fjall a checksum a block, redb and SQLite none. A bare file, written
//! and synced, and read, with no order, names or checks, says what of that is the medium's. Stores take turns, so that they meet
//! the same medium, and all figures are medians. Processor time is that of all threads, so that work in the background counts.

mod store;

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use store::{Bare, Fjall, Log, Redb, Sqlite, Store};

/// A turn of a store.
const TURN: usize = 20;
const TURNS: usize = 15;
const GROUP: usize = 64;
/// The mean of a full run.
const BODY: usize = 1_400;
const SCANS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir_in(".")?;
    let mut contestants = vec![
        Contestant::new::<Log>("log", directory.path())?,
        Contestant::new::<Redb>("redb", directory.path())?,
        Contestant::new::<Fjall>("fjall", directory.path())?,
        Contestant::new::<Sqlite>("SQLite", directory.path())?,
        Contestant::new::<Bare>("a bare file", directory.path())?,
    ];
    for turn in 0..TURNS {
        let groups: Vec<_> = (turn * TURN..(turn + 1) * TURN).map(group).collect();
        contestants.iter_mut().try_for_each(|contestant| contestant.append(&groups))?;
    }
    contestants.iter_mut().try_for_each(|contestant| contestant.store.settle())?;
    for _ in 0..SCANS {
        contestants.iter_mut().try_for_each(Contestant::scan)?;
    }
    println!("{} groups of {GROUP} events of {BODY} bytes", TURN * TURNS);
    println!(
        "{:<12} {:>16} {:>18} {:>16} {:>12}",
        "store", "append: CPU us/ev", "clock ms/group", "scan: CPU us/ev", "GB/s"
    );
    contestants.iter_mut().for_each(Contestant::report);
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

/// A store, and what it took.
struct Contestant {
    name: &'static str,
    store: Box<dyn Store>,
    /// Processor time of each turn of appending.
    appends: Vec<Duration>,
    /// Clock time of each group.
    commits: Vec<Duration>,
    /// Processor time of each scan.
    scans: Vec<Duration>,
}

impl Contestant {
    fn new<S: Store + 'static>(name: &'static str, directory: &Path) -> Result<Self, Box<dyn Error>> {
        let directory = directory.join(name);
        std::fs::create_dir(&directory)?;
        let store = Box::new(S::open(&directory)?);
        Ok(Self { name, store, appends: Vec::new(), commits: Vec::new(), scans: Vec::new() })
    }

    fn append(&mut self, groups: &[Vec<Vec<u8>>]) -> Result<(), Box<dyn Error>> {
        let processor = ProcessTime::now();
        for group in groups {
            let clock = Instant::now();
            self.store.append(group)?;
            self.commits.push(clock.elapsed());
        }
        self.appends.push(processor.elapsed());
        Ok(())
    }

    fn scan(&mut self) -> Result<(), Box<dyn Error>> {
        let processor = ProcessTime::now();
        let bytes = self.store.scan()?;
        self.scans.push(processor.elapsed());
        if bytes == TURNS * TURN * GROUP * BODY {
            Ok(())
        } else {
            Err(format!("{} scanned {bytes} bytes", self.name).into())
        }
    }

    fn report(&mut self) {
        let micros = |times: &mut Vec<Duration>| {
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64() * 1e6
        };
        let append = micros(&mut self.appends) / (TURN * GROUP) as f64;
        let commit = micros(&mut self.commits) / 1e3;
        let scan = micros(&mut self.scans) / (TURNS * TURN * GROUP) as f64;
        println!(
            "{:<12} {append:>16.2} {commit:>18.2} {scan:>16.3} {:>12.2}",
            self.name,
            BODY as f64 / scan / 1e3
        );
    }
}
