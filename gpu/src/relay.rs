//! Items that threads make side by side, and sums that each take them up in order.
//!
//! *Invariant*: a sum takes up every item once, in ascending order, on one thread at a time. So a sum's chain of additions is
//! the same whoever makes what when, and however many threads there are.

use crate::error::ArithmeticError;
use crate::pool::Pool;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How much there is to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relay {
    /// Items to make.
    pub(crate) items: usize,
    /// Sums that take them up.
    pub(crate) sums: usize,
    /// Items that may be under way: begun, and not yet taken up by every sum. At least one.
    pub(crate) window: usize,
}

/// What threads do for it.
pub(crate) trait Runners: Sync {
    /// Memory of one thread.
    type Scratch: Default + Send;

    /// Makes an item. No other is begun before those in front of it were.
    fn make(&self, item: usize, scratch: &mut Self::Scratch) -> Result<(), ArithmeticError>;

    /// Has a sum take up these items, which are made.
    fn take_up(&self, sum: usize, items: Range<usize>, scratch: &mut Self::Scratch);
}

impl Relay {
    /// Runs it on the threads of a pool; the earliest item's error, where there is one. `scratch` is filled up to one a thread.
    pub(crate) fn run<R: Runners>(
        self,
        pool: Pool,
        scratch: &mut Vec<R::Scratch>,
        runners: &R,
    ) -> Result<(), ArithmeticError> {
        let board = Board::new(self);
        pool.on_each(scratch, |scratch| board.work(runners, scratch))?;
        match board.state.into_inner().unwrap_or_else(PoisonError::into_inner).failed {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }
}

/// Where threads look for what to do.
struct Board {
    relay: Relay,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Items that were begun, the first ones.
    begun: usize,
    made: Vec<bool>,
    /// All items before this one are made.
    front: usize,
    /// By sum: how many items it has taken up.
    taken: Vec<usize>,
    /// By sum: whether it is taking some up.
    busy: Vec<bool>,
    /// The earliest item that could not be made.
    failed: Option<(usize, ArithmeticError)>,
    /// A thread panicked: what it had begun will never be done.
    abandoned: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    Make(usize),
    TakeUp { sum: usize, items: Range<usize> },
    End,
}

impl State {
    /// What a thread may do now, if there is anything. Sums come first: what was made just now is still in the caches.
    fn next(&mut self, relay: Relay) -> Option<Next> {
        // Items are begun in order: those before one that failed are with their threads, which report before they end.
        if self.failed.is_some() || self.abandoned {
            return Some(Next::End);
        }
        let idle = (0..relay.sums).filter(|&sum| !self.busy[sum] && self.taken[sum] < self.front);
        if let Some(sum) = idle.min_by_key(|&sum| self.taken[sum]) {
            self.busy[sum] = true;
            return Some(Next::TakeUp { sum, items: self.taken[sum]..self.front });
        }
        let done = self.taken.iter().copied().min().unwrap_or(self.front);
        if self.begun < relay.items && self.begun < done + relay.window.max(1) {
            self.begun += 1;
            return Some(Next::Make(self.begun - 1));
        }
        (done == relay.items).then_some(Next::End)
    }

    fn made(&mut self, item: usize, result: Result<(), ArithmeticError>) {
        if let Err(error) = result {
            if self.failed.as_ref().is_none_or(|(earliest, _)| item < *earliest) {
                self.failed = Some((item, error));
            }
            return;
        }
        self.made[item] = true;
        while self.made.get(self.front) == Some(&true) {
            self.front += 1;
        }
    }
}

impl Board {
    fn new(relay: Relay) -> Self {
        let state = State {
            begun: 0,
            made: vec![false; relay.items],
            front: 0,
            taken: vec![0; relay.sums],
            busy: vec![false; relay.sums],
            failed: None,
            abandoned: false,
        };
        Self { relay, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn work<R: Runners>(&self, runners: &R, scratch: &mut R::Scratch) {
        let _leaving = Leaving(self);
        loop {
            match self.next() {
                Next::Make(item) => {
                    let result = runners.make(item, scratch);
                    self.state().made(item, result);
                }
                Next::TakeUp { sum, items } => {
                    let end = items.end;
                    runners.take_up(sum, items, scratch);
                    let mut state = self.state();
                    state.taken[sum] = end;
                    state.busy[sum] = false;
                }
                Next::End => return,
            }
            self.changed.notify_all();
        }
    }

    /// What to do next, waiting for it.
    fn next(&self) -> Next {
        let mut state = self.state();
        loop {
            if let Some(next) = state.next(self.relay) {
                return next;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the others when a thread leaves by a panic: they would wait for what it had begun.
struct Leaving<'a>(&'a Board);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().abandoned = true;
            self.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Records who did what.
    struct Recorder {
        relay: Relay,
        made: Mutex<Vec<usize>>,
        taken: Vec<Mutex<Vec<usize>>>,
        most_under_way: AtomicUsize,
        fails: fn(usize) -> bool,
    }

    impl Runners for Recorder {
        type Scratch = ();

        fn make(&self, item: usize, (): &mut ()) -> Result<(), ArithmeticError> {
            let slowest = self.taken.iter().map(|sum| sum.lock().unwrap().len()).min().unwrap();
            self.most_under_way.fetch_max(item + 1 - slowest, Ordering::Relaxed);
            if (self.fails)(item) {
                return Err(ArithmeticError::Slot { slot: item, slots: 0 });
            }
            self.made.lock().unwrap().push(item);
            Ok(())
        }

        fn take_up(&self, sum: usize, items: Range<usize>, (): &mut ()) {
            for item in items {
                assert!(self.made.lock().unwrap().contains(&item), "{item} is not made");
                self.taken[sum].lock().unwrap().push(item);
            }
        }
    }

    fn run(
        relay: Relay,
        threads: usize,
        fails: fn(usize) -> bool,
    ) -> (Result<(), ArithmeticError>, Recorder) {
        let recorder = Recorder {
            relay,
            made: Mutex::default(),
            taken: (0..relay.sums).map(|_| Mutex::default()).collect(),
            most_under_way: AtomicUsize::new(0),
            fails,
        };
        (relay.run(Pool::new(threads), &mut Vec::new(), &recorder), recorder)
    }

    #[test]
    fn sums_come_first_then_items_within_the_window_and_nothing_after_a_failure() {
        let relay = Relay { items: 5, sums: 2, window: 2 };
        let mut state = Board::new(relay).state.into_inner().unwrap();
        assert_eq!(state.next(relay), Some(Next::Make(0)));
        assert_eq!(state.next(relay), Some(Next::Make(1)));
        assert_eq!(state.next(relay), None, "two are under way");
        state.made(1, Ok(()));
        assert_eq!(state.next(relay), None, "item 0 comes first");
        state.made(0, Ok(()));
        assert_eq!(state.next(relay), Some(Next::TakeUp { sum: 0, items: 0..2 }));
        assert_eq!(state.next(relay), Some(Next::TakeUp { sum: 1, items: 0..2 }));
        assert_eq!(state.next(relay), None, "both sums are busy");
        (state.taken[0], state.busy[0]) = (2, false);
        assert_eq!(state.next(relay), None, "sum 1 still reads items 0 and 1");
        (state.taken[1], state.busy[1]) = (2, false);
        assert_eq!(state.next(relay), Some(Next::Make(2)));
        state.made(2, Err(ArithmeticError::Environment));
        assert_eq!(state.next(relay), Some(Next::End));
    }

    #[test]
    fn every_sum_takes_up_every_item_in_order_within_the_window() {
        for (threads, window) in [(1, 1), (1, 3), (2, 1), (2, 2), (3, 7), (8, 8)] {
            for items in [0, 1, 2, 50] {
                let (result, recorder) = run(Relay { items, sums: 5, window }, threads, |_| false);
                assert_eq!(result, Ok(()));
                for sum in recorder.taken {
                    assert!(sum.into_inner().unwrap().into_iter().eq(0..items));
                }
                assert!(recorder.most_under_way.into_inner() <= window, "{threads} threads");
            }
        }
    }

    #[test]
    fn the_error_of_the_earliest_item_is_returned_whoever_meets_one_first() {
        for threads in [1, 2, 8] {
            let relay = Relay { items: 60, sums: 3, window: 8 };
            let (result, recorder) = run(relay, threads, |item| item % 20 >= 17);
            assert_eq!(result, Err(ArithmeticError::Slot { slot: 17, slots: 0 }));
            let last = 17 + recorder.relay.window;
            assert!(recorder.made.into_inner().unwrap().iter().all(|&item| item < last), "it went on");
        }
    }

    #[test]
    #[should_panic(expected = "panic")]
    fn a_panic_ends_all_threads() {
        run(Relay { items: 40, sums: 3, window: 4 }, 4, |item| {
            assert!(item != 9, "an item that panics");
            false
        })
        .0
        .unwrap();
    }
}
