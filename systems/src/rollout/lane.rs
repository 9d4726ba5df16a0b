//! One core's share of the episodes: continuous batching over a fixed number of slots.

use std::sync::atomic::{AtomicUsize, Ordering};

use tadpole_gpu::backend::Policy;

use super::assignment::{Assignment, Played};
use super::live::{Live, Opened};
use super::players::{PlayError, Players};

/// Plays assignments until none is left. What an episode becomes does not depend on the lane or on its neighbours.
pub(super) fn run(
    players: &Players,
    policy: &dyn Policy,
    assignments: &[(usize, &Assignment)],
    next: &AtomicUsize,
) -> Result<Vec<(usize, Played)>, PlayError> {
    let mut decoder = policy.decoder(players.slots);
    let mut live: Vec<Option<(usize, Box<Live<'_>>)>> = (0..players.slots).map(|_| None).collect();
    let mut done = Vec::new();
    loop {
        for (slot, place) in live.iter_mut().enumerate().filter(|(_, place)| place.is_none()) {
            let Some((index, assignment)) = take(assignments, next) else { break };
            match Live::open(players, assignment)? {
                Opened::Over(played) => {
                    players.meter.played();
                    done.push((index, *played));
                }
                Opened::UnderWay(episode) => {
                    decoder.reset(slot)?;
                    *place = Some((index, episode));
                }
            }
        }
        let busy: Vec<usize> = (0..live.len()).filter(|&slot| live[slot].is_some()).collect();
        if busy.is_empty() {
            return Ok(done);
        }
        let work: Vec<(usize, &[u32])> = busy
            .iter()
            .filter_map(|&slot| live[slot].as_ref().map(|(_, episode)| (slot, episode.unfed())))
            .collect();
        let logits = decoder.extend(&work)?;
        players.meter.sampled(busy.len());
        for (row, slot) in logits.rows().zip(busy) {
            let Some((index, episode)) = &mut live[slot] else { continue };
            if let Some(exit) = episode.advance(row)? {
                let index = *index;
                if let Some((_, episode)) = live[slot].take() {
                    done.push((index, episode.finish(exit)?));
                    players.meter.played();
                }
            }
        }
    }
}

fn take<'a>(assignments: &[(usize, &'a Assignment)], next: &AtomicUsize) -> Option<(usize, &'a Assignment)> {
    assignments.get(next.fetch_add(1, Ordering::Relaxed)).copied()
}
