//! Ordered parallel maps: what comes out does not depend on how many threads there are, or on which finishes first.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Maps `items` on `threads` threads; results stand in the order of the items.
///
/// The first error, in the order of the items, is returned; items behind an error may or may not have been mapped.
pub(crate) fn map<T: Sync, R: Send, E: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(usize, &T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let threads = threads.clamp(1, items.len().max(1));
    if threads == 1 {
        return items.iter().enumerate().map(|(index, item)| work(index, item)).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let index = next.fetch_add(1, Ordering::Relaxed);
        items.get(index).map(|item| (index, item))
    };
    let mut done: Vec<(usize, Result<R, E>)> = std::thread::scope(|scope| {
        let run = || {
            let mut done = Vec::new();
            while let Some((index, item)) = take() {
                done.push((index, work(index, item)));
            }
            done
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_items_for_any_thread_count() {
        let items: Vec<u64> = (0..257).collect();
        let expected: Vec<u64> = items.iter().map(|item| item * item).collect();
        for threads in [1, 2, 3, 8] {
            let mapped: Result<Vec<u64>, ()> = map(threads, &items, |_, item| Ok(item * item));
            assert_eq!(mapped, Ok(expected.clone()), "{threads} threads");
        }
    }

    #[test]
    fn the_first_error_in_order_wins_for_any_thread_count() {
        let items: Vec<u32> = (0..100).collect();
        for threads in [1, 2, 8] {
            let mapped = map(threads, &items, |_, &item| if item % 40 == 39 { Err(item) } else { Ok(item) });
            assert_eq!(mapped, Err(39), "{threads} threads");
        }
    }

    #[test]
    fn nothing_maps_to_nothing() {
        assert_eq!(map::<u32, u32, ()>(4, &[], |_, _| Err(())), Ok(vec![]));
    }
}
