//! Threads that share out work whose results do not depend on who does it.
//!
//! *Invariant*: an item owns what it writes. Nothing is summed across items, so neither the number of threads nor the
//! order in which items are taken can show in a result.

use crate::error::ArithmeticError;
use crate::vector::environment_is_exact;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// A number of threads. They live as long as one call: items are large (a sequence, a weight matrix), starting a
/// thread is not felt, and idle threads never stand in the way of others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    threads: NonZeroUsize,
}

impl Pool {
    /// A pool of this many threads, at least one.
    pub(crate) fn new(threads: usize) -> Self {
        Self { threads: NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN) }
    }

    /// How many threads.
    pub(crate) fn threads(self) -> usize {
        self.threads.get()
    }

    /// Does `work` once on every thread, each with its scratch, which is filled up to one a thread. Refused where a thread
    /// does not compute as it must.
    pub(crate) fn on_each<S: Send + Default>(
        self,
        scratch: &mut Vec<S>,
        work: impl Fn(&mut S) + Sync,
    ) -> Result<(), ArithmeticError> {
        let threads = self.threads();
        if scratch.len() < threads {
            scratch.resize_with(threads, S::default);
        }
        let exact = AtomicBool::new(true);
        let run = |scratch: &mut S| {
            if environment_is_exact() {
                work(scratch);
            } else {
                exact.store(false, Ordering::Relaxed);
            }
        };
        if let Some((own, others)) = scratch[..threads].split_first_mut() {
            std::thread::scope(|scope| {
                for other in others {
                    scope.spawn(|| run(other));
                }
                run(own);
            });
        }
        if exact.into_inner() { Ok(()) } else { Err(ArithmeticError::Environment) }
    }

    /// Does `work` for every item, each on some thread with that thread's scratch. `scratch` is filled up to one a
    /// thread. Of several errors, the one of the earliest item is returned.
    pub(crate) fn for_each<T, S>(
        self,
        scratch: &mut Vec<S>,
        items: Vec<T>,
        work: impl Fn(&mut S, T) -> Result<(), ArithmeticError> + Sync,
    ) -> Result<(), ArithmeticError>
    where
        T: Send,
        S: Send + Default,
    {
        let threads = self.threads().min(items.len());
        let queue = Mutex::new(items.into_iter().enumerate());
        let first_error: Mutex<Option<(usize, ArithmeticError)>> = Mutex::new(None);
        Self::new(threads).on_each(scratch, |scratch| {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((index, item)) = next else { return };
                if let Err(error) = work(scratch, item) {
                    keep_earliest(&first_error, index, error);
                }
            }
        })?;
        match first_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }
}

fn keep_earliest(first: &Mutex<Option<(usize, ArithmeticError)>>, index: usize, error: ArithmeticError) {
    let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
    if first.as_ref().is_none_or(|(earliest, _)| index < *earliest) {
        *first = Some((index, error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_done_once_and_the_earliest_error_is_returned() {
        for threads in 1..=4 {
            let mut done = vec![0; 100];
            let items: Vec<(usize, &mut i32)> = done.iter_mut().enumerate().collect();
            let result = Pool::new(threads).for_each(&mut Vec::<()>::new(), items, |(), (index, slot)| {
                *slot += 1;
                if index % 30 == 17 {
                    return Err(ArithmeticError::Slot { slot: index, slots: 0 });
                }
                Ok(())
            });
            assert_eq!(result, Err(ArithmeticError::Slot { slot: 17, slots: 0 }));
            assert!(done.iter().all(|&times| times == 1));
        }
    }
}
