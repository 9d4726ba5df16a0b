//! One core's share of the episodes: continuous batching over a fixed number of slots.

use std::sync::atomic::{AtomicUsize, Ordering};

use tadpole_gpu::backend::{Decoder, Policy};
use tadpole_kernel::event::Exit;

use super::assignment::{Assignment, Played};
use super::guess::Guess;
use super::live::{Live, Opened};
use super::players::{PlayError, Players};

/// Tokens of a guessed history that are read at once: enough to amortise the weights, few enough that their logits stay in
/// the nearer caches.
const STRETCH: usize = 128;

/// Plays assignments until none is left. What an episode becomes does not depend on the lane or on its neighbours.
pub(super) fn run(
    players: &Players,
    policy: &dyn Policy,
    assignments: &[(usize, &Assignment)],
    next: &AtomicUsize,
) -> Result<Vec<(usize, Played)>, PlayError> {
    let mut lane = Lane {
        players,
        decoder: policy.decoder(players.slots + 1),
        vocab: policy.shape().vocab as usize,
        prefix: Vec::new(),
        live: (0..players.slots).map(|_| None).collect(),
        done: Vec::new(),
        logits: Vec::new(),
    };
    loop {
        lane.fill(|| assignments.get(next.fetch_add(1, Ordering::Relaxed)).copied())?;
        if !lane.decode()? {
            return Ok(lane.done);
        }
    }
}

struct Lane<'a> {
    players: &'a Players,
    /// One slot an episode, and the last one for `prefix`.
    decoder: Box<dyn Decoder>,
    vocab: usize,
    /// What the opening of the last episode was, but for its last token: the members of a group share it.
    prefix: Vec<u32>,
    live: Vec<Option<(usize, Box<Live<'a>>)>>,
    done: Vec<(usize, Played)>,
    /// Room for logits of guessed histories.
    logits: Vec<f32>,
}

impl<'a> Lane<'a> {
    /// Opens episodes until every slot has one, or none is left.
    fn fill(&mut self, mut take: impl FnMut() -> Option<(usize, &'a Assignment)>) -> Result<(), PlayError> {
        for slot in 0..self.live.len() {
            while self.live[slot].is_none() {
                let Some((index, assignment)) = take() else { return Ok(()) };
                self.open(slot, index, assignment)?;
            }
        }
        Ok(())
    }

    /// Opens an episode in a slot; one that is over at once leaves the slot free.
    fn open(&mut self, slot: usize, index: usize, assignment: &'a Assignment) -> Result<(), PlayError> {
        let mut episode = match Live::open(self.players, assignment)? {
            Opened::Over(played) => {
                self.finished(index, *played);
                return Ok(());
            }
            Opened::UnderWay(episode) => episode,
        };
        self.begin(slot, &mut episode)?;
        if let Some(guess) = self.players.guesses.about(assignment) {
            if let Some(exit) = self.follow(slot, &mut episode, &guess)? {
                self.finished(index, episode.finish(exit)?);
                return Ok(());
            }
            self.begin(slot, &mut episode)?;
        }
        self.live[slot] = Some((index, episode));
        Ok(())
    }

    /// Has a slot hold the opening of an episode, but for its last token. It is read once for all members of a group.
    fn begin(&mut self, slot: usize, episode: &mut Live<'_>) -> Result<(), PlayError> {
        let holder = self.live.len();
        let prefix = episode.prefix();
        if self.prefix != prefix {
            self.prefix.clear();
            self.decoder.reset(holder)?;
            if !prefix.is_empty() {
                self.decoder.read(holder, prefix, &[], &mut self.logits)?;
            }
            self.prefix.extend_from_slice(prefix);
        }
        self.decoder.fork(holder, slot)?;
        episode.fed(self.prefix.len());
        Ok(())
    }

    /// Plays an episode along a guessed history, as far as it turns out to be the true one; the exit where that is to the
    /// end. The slot must begin anew otherwise.
    fn follow(
        &mut self,
        slot: usize,
        episode: &mut Live<'_>,
        guess: &Guess,
    ) -> Result<Option<Exit>, PlayError> {
        let mut from = self.prefix.len();
        while guess.begins(episode.history())
            && let Some((tokens, wanted)) = guess.stretch(from, STRETCH)
        {
            // What cannot be read (a token that there is none of, more than the context holds) was never drawn.
            if self.decoder.read(slot, tokens, &wanted, &mut self.logits).is_err() {
                return Ok(None);
            }
            for (row, place) in self.logits.chunks_exact(self.vocab).zip(wanted) {
                let read = from + place + 1;
                // The row's logits stand behind `read` tokens of the guess: they must be the whole history, and be it.
                if episode.history().len() != read || !guess.begins(episode.history()) {
                    return Ok(None);
                }
                self.players.meter.sampled(1);
                self.players.meter.followed(1);
                if let Some(exit) = episode.advance(row)? {
                    return Ok(Some(exit));
                }
            }
            from += tokens.len();
        }
        Ok(None)
    }

    /// Draws the next token of every live episode; `false` where there is none.
    fn decode(&mut self) -> Result<bool, PlayError> {
        let busy: Vec<usize> = (0..self.live.len()).filter(|&slot| self.live[slot].is_some()).collect();
        if busy.is_empty() {
            return Ok(false);
        }
        let work: Vec<(usize, &[u32])> = busy
            .iter()
            .filter_map(|&slot| self.live[slot].as_ref().map(|(_, episode)| (slot, episode.unfed())))
            .collect();
        let logits = self.decoder.extend(&work)?;
        self.players.meter.sampled(busy.len());
        let mut over = Vec::new();
        for (row, slot) in logits.rows().zip(busy) {
            let Some((_, episode)) = &mut self.live[slot] else { continue };
            if let Some(exit) = episode.advance(row)? {
                over.extend(self.live[slot].take().map(|(index, episode)| (index, episode, exit)));
            }
        }
        for (index, episode, exit) in over {
            self.finished(index, episode.finish(exit)?);
        }
        Ok(true)
    }

    fn finished(&mut self, index: usize, played: Played) {
        self.done.push((index, played));
        self.players.meter.played();
    }
}
