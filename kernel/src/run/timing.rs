//! The wall-clock sidecar: what a step cost. Beside the chain; nothing hashes it, nothing depends on it, and losing it
//! loses nothing else. The kernel has no clock: whoever drives it measures.

use std::io;
use std::sync::Arc;

use crate::id::Step;
use crate::storage::{Storage, StorageFile};

const NAME: &str = "timing.jsonl";

/// What a step cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Timing {
    /// The step.
    pub step: u64,
    /// Wall-clock time, in microseconds.
    pub wall_us: u64,
    /// Processor time of all threads and workers, in microseconds.
    pub cpu_us: u64,
    /// The most memory that all processes have held so far, in bytes; `None` where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
}

/// Appends timings.
#[derive(Debug)]
pub(crate) struct TimingLog {
    storage: Arc<dyn Storage>,
    file: Option<Box<dyn StorageFile>>,
}

impl TimingLog {
    pub(crate) fn new(storage: Arc<dyn Storage>) -> Self {
        Self { storage, file: None }
    }

    pub(crate) fn note(&mut self, timing: &Timing) -> io::Result<()> {
        let mut line = serde_json::to_vec(timing)?;
        line.push(b'\n');
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.storage.append(NAME)?),
        };
        file.write_all(&line)
    }
}

/// The timings noted, by step; of a step noted twice (a crash lay between), the last. Lines that are not whole are skipped.
pub(crate) fn read(storage: &dyn Storage) -> io::Result<Vec<Timing>> {
    let bytes = match storage.read(NAME) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let lines = bytes.split(|&byte| byte == b'\n');
    let timings = lines.filter_map(|line| serde_json::from_slice::<Timing>(line).ok());
    let by_step: std::collections::BTreeMap<Step, Timing> =
        timings.map(|timing| (Step(timing.step), timing)).collect();
    Ok(by_step.into_values().collect())
}
