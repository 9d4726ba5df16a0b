//! Live counts, for people who wait. Any thread adds, any thread may read; nothing is ever decided by them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::memory_peak;

/// Counts what goes on. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    due: AtomicU64,
    begun: AtomicU64,
    played: AtomicU64,
    tokens: AtomicU64,
    followed: AtomicU64,
    ahead: AtomicU64,
    worked_us: AtomicU64,
    /// Process ids of the sandbox workers that live.
    workers: Mutex<BTreeSet<u32>>,
    /// The most memory that was seen held, in bytes.
    peak: AtomicU64,
}

/// What a meter shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Episodes of the decision under way; 0 where none are being played.
    pub due: u64,
    /// Of them, over.
    pub done: u64,
    /// Episodes that were played since the start.
    pub played: u64,
    /// Tokens that were sampled since the start.
    pub tokens: u64,
    /// Of them, those whose logits were read along a history that was known beforehand.
    pub followed: u64,
    /// Episodes that were played before a decision asked for them, and used.
    pub ahead: u64,
    /// Processor time of sandbox workers since the start.
    pub worked: Duration,
}

impl Meter {
    /// What was counted so far. The figures are read one after another: close to one another, not of one instant.
    #[must_use]
    pub fn read(&self) -> Reading {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Counts { due, begun, played, tokens, followed, ahead, worked_us, workers: _, peak: _ } =
            self.0.as_ref();
        let (due, begun, played) = (read(due), read(begun), read(played));
        let done = if due == 0 { 0 } else { played.saturating_sub(begun).min(due) };
        let worked = Duration::from_micros(read(worked_us));
        Reading {
            due,
            done,
            played,
            tokens: read(tokens),
            followed: read(followed),
            ahead: read(ahead),
            worked,
        }
    }

    /// The most memory that this process and its sandbox workers have held so far, in bytes: the largest sum of the peaks of
    /// those that were alive together, which need not have come at one time. `None` where the system does not tell.
    #[must_use]
    pub fn memory_peak(&self) -> Option<u64> {
        let own = memory_peak::of_process(std::process::id())?;
        // A worker that just ended holds nothing.
        let workers =
            self.workers().iter().filter_map(|&id| memory_peak::of_process(id)).fold(0, u64::saturating_add);
        let held = own.saturating_add(workers);
        Some(self.0.peak.fetch_max(held, Ordering::Relaxed).max(held))
    }

    /// A sandbox worker was started.
    pub(crate) fn hired(&self, id: u32) {
        self.workers().insert(id);
    }

    /// A sandbox worker is about to be ended.
    pub(crate) fn dismissed(&self, id: u32) {
        // Its peak counts, though it will not be there when somebody asks.
        _ = self.memory_peak();
        self.workers().remove(&id);
    }

    fn workers(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.0.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `due` episodes are played until the guard is dropped.
    pub(crate) fn playing(&self, due: usize) -> impl Drop + use<> {
        let counts = &self.0;
        counts.begun.store(counts.played.load(Ordering::Relaxed), Ordering::Relaxed);
        counts.due.store(due as u64, Ordering::Relaxed);
        Playing(self.clone())
    }

    /// An episode is over.
    pub(crate) fn played(&self) {
        self.0.played.fetch_add(1, Ordering::Relaxed);
    }

    /// Tokens were sampled.
    pub(crate) fn sampled(&self, tokens: usize) {
        self.0.tokens.fetch_add(tokens as u64, Ordering::Relaxed);
    }

    /// Of the tokens that were sampled, these followed a history that was known beforehand.
    pub(crate) fn followed(&self, tokens: usize) {
        self.0.followed.fetch_add(tokens as u64, Ordering::Relaxed);
    }

    /// Episodes that were played ahead were asked for.
    pub(crate) fn ahead(&self, episodes: usize) {
        self.0.ahead.fetch_add(episodes as u64, Ordering::Relaxed);
    }

    /// A sandbox worker spent processor time.
    pub(crate) fn worked(&self, spent: Duration) {
        self.0.worked_us.fetch_add(u64::try_from(spent.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

struct Playing(Meter);

impl Drop for Playing {
    fn drop(&mut self) {
        self.0.0.due.store(0, Ordering::Relaxed);
    }
}

/// Processor time of all threads of this process so far; 0 where the system does not tell.
#[must_use]
pub fn process_cpu() -> Duration {
    cpu_time::ProcessTime::try_now().map(|time| time.as_duration()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_shows_how_far_the_decision_under_way_is_and_what_all_of_them_came_to() {
        let meter = Meter::default();
        let reader = meter.clone();
        for round in 1..=2 {
            let playing = meter.playing(3);
            meter.sampled(10);
            meter.played();
            let Reading { due, done, played, tokens, .. } = reader.read();
            assert_eq!((due, done, played, tokens), (3, 1, 2 * round - 1, 10 * round));
            meter.played();
            drop(playing);
            assert_eq!((reader.read().due, reader.read().done), (0, 0));
        }
        meter.worked(Duration::from_millis(5));
        assert_eq!(reader.read().worked, Duration::from_millis(5));
    }

    #[test]
    fn processor_time_never_falls() {
        let before = process_cpu();
        assert!(process_cpu() >= before);
    }
}
