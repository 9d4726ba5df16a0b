//! Killing the real process at random instants, resuming it, and comparing what comes of it byte by byte.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tadpole_kernel::draws::{Stream, StreamKey};

use crate::{binary, bits};

/// Kills in one run before it is left to end.
const KILLS_PER_RUN_MAX: u64 = 4;

/// What to do.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// A shipped scenario.
    pub scenario: String,
    /// Processes to kill.
    pub kills: u64,
    /// What the instants are drawn from.
    pub seed: u64,
    /// Threads of each process.
    pub threads: u32,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Processes that were killed.
    pub kills: u64,
    /// Of them, before the run's directory was there.
    pub unborn: u64,
    /// Of them, while going on with a run.
    pub resuming: u64,
    /// Runs that ended, each with the bytes of the uninterrupted one.
    pub runs: u64,
    /// Torn tails that were cut off.
    pub torn: u64,
}

impl Campaign {
    /// Carries it out below `directory`, which is left with the run that failed, if one does. `told` is called after every
    /// run.
    ///
    /// # Panics
    /// Where a run does not end with the bytes of the uninterrupted one.
    pub fn carry_out(&self, directory: &Path, mut told: impl FnMut(&Tally)) -> Tally {
        let whole = directory.join("uninterrupted");
        let began = now();
        let status = self.process(&whole).wait().unwrap();
        assert!(status.success(), "the uninterrupted run failed");
        let length = now().saturating_duration_since(began);
        let mut tally = Tally::default();
        while tally.kills < self.kills {
            let run = directory.join(format!("run-{}", tally.runs));
            let mut chance =
                Stream::new(self.seed, &StreamKey { turn: tally.runs as u32, ..StreamKey::new("kills") });
            let kills = (1 + chance.below(KILLS_PER_RUN_MAX)).min(self.kills - tally.kills);
            for _ in 0..kills {
                let resuming = run.exists();
                if !kill_after(self.process(&run), instant(&mut chance, length)) {
                    break;
                }
                tally.kills += 1;
                tally.resuming += u64::from(resuming);
                tally.unborn += u64::from(!run.exists());
            }
            assert!(
                self.process(&run).wait().unwrap().success(),
                "seed {}: {} does not go on",
                self.seed,
                run.display()
            );
            bits::assert_same(&format!("seed {}, {}", self.seed, run.display()), &whole, &run);
            tally.torn += torn(&run);
            tally.runs += 1;
            std::fs::remove_dir_all(&run).unwrap();
            told(&tally);
        }
        tally
    }

    /// Starts the run, or goes on with it where it is there.
    fn process(&self, run: &Path) -> Child {
        let (threads, name) = (self.threads.to_string(), run.to_str().expect("a path in UTF-8"));
        let words: Vec<&str> = if run.exists() {
            vec!["resume", name, "--threads", &threads]
        } else {
            vec!["run", &self.scenario, "--threads", &threads, "--out", name, "--set", "exec.progress=none"]
        };
        let mut command = binary::command(words);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}

/// An instant of a run that takes about `length`; a little beyond, too, for this one may take longer.
fn instant(chance: &mut Stream, length: Duration) -> Duration {
    length.mul_f64(1.2 * chance.uniform())
}

/// Kills a process once `time` has passed; `false` where it had ended by then.
fn kill_after(mut child: Child, time: Duration) -> bool {
    thread::sleep(time);
    // One that has ended cannot be killed.
    child.kill().ok();
    child.wait().unwrap().code().is_none()
}

fn torn(run: &Path) -> u64 {
    let notes = std::fs::read_to_string(run.join("recovery.log")).unwrap_or_default();
    notes.lines().count() as u64
}

/// A directory for a campaign, below the target directory.
///
/// # Panics
/// Where it cannot be made.
#[must_use]
pub fn place() -> PathBuf {
    let directory =
        crate::scratch::profile_directory().join(format!("../tmp/tadpole/crash-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    directory.canonicalize().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "how long a run takes, to kill it within that time")]
fn now() -> Instant {
    Instant::now()
}
