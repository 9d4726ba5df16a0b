//! Tells an observer what a meter shows, while long steps are decided.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use tadpole_systems::meter::{Meter, Reading};

use crate::progress::{Notice, Observer};

/// Between two looks at the meter.
const TICK: Duration = Duration::from_millis(125);

/// Looks at a meter on behalf of an observer.
pub(super) struct Watch<'a> {
    meter: &'a Meter,
    observer: &'a dyn Observer,
    told: Mutex<Reading>,
}

impl<'a> Watch<'a> {
    /// Does `work`, and tells `observer` what the meter shows every now and then.
    pub(super) fn over<T>(meter: &'a Meter, observer: &'a dyn Observer, work: impl FnOnce(&Self) -> T) -> T {
        let watch = Self { meter, observer, told: Mutex::new(meter.read()) };
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let ticker = scope.spawn(|| {
                while !over.load(Ordering::Acquire) {
                    watch.tell();
                    thread::park_timeout(TICK);
                }
            });
            let _stop = Stop { over: &over, ticker: ticker.thread().clone() };
            let result = work(&watch);
            watch.tell();
            result
        })
    }

    /// Tells what has changed since it was told last.
    pub(super) fn tell(&self) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.meter.read();
        let (trajectories, tokens) = (now.played - told.played, now.tokens - told.tokens);
        let changed = trajectories > 0 || tokens > 0 || (now.due, now.done) != (told.due, told.done);
        if changed {
            self.observer.notice(&Notice::Sampled { trajectories, tokens, done: now.done, due: now.due });
        }
        *told = now;
    }
}

/// Ends the ticker, in a panic too.
struct Stop<'a> {
    over: &'a AtomicBool,
    ticker: Thread,
}

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.ticker.unpark();
    }
}
