//! One core's share of the episodes: continuous batching over a fixed number of seats.

use std::ops::ControlFlow;

use tadpole_gpu::backend::{Decoder, Policy};
use tadpole_kernel::event::Exit;

use super::assignment::{Assignment, Played};
use super::cohort::{Cohort, Seated};
use super::deal::Deal;
use super::guess::Guess;
use super::live::{Live, Opened};
use super::players::{PlayError, Players};

/// Tokens of a guessed history that are read at once: enough to amortise the weights, few enough that their logits stay in
/// the nearer caches.
const STRETCH: usize = 128;

/// Plays assignments until none is left. What an episode becomes does not depend on the lane or on its neighbours.
pub(super) fn run<'a>(
    players: &'a Players,
    policy: &dyn Policy,
    deal: &Deal<'a>,
) -> Result<Vec<(usize, Played)>, PlayError> {
    let mut lane = Lane {
        players,
        decoder: policy.decoder(players.seats + 1),
        vocab: policy.shape().vocab as usize,
        prefix: Vec::new(),
        cohorts: (0..players.seats).map(|_| None).collect(),
        done: Vec::new(),
        logits: Vec::new(),
    };
    loop {
        lane.fill(deal)?;
        if !lane.decode()? {
            return Ok(lane.done);
        }
    }
}

struct Lane<'a> {
    players: &'a Players,
    /// A slot for each seat, and the last one for `prefix`.
    decoder: Box<dyn Decoder>,
    vocab: usize,
    /// What the opening of the last episode was, but for its last token: the members of a group share it.
    prefix: Vec<u32>,
    /// By slot. *Invariant*: all their episodes together are at most as many as there are slots, so that a slot is free for
    /// each that parts from its cohort.
    cohorts: Vec<Option<Cohort<'a>>>,
    done: Vec<(usize, Played)>,
    /// Room for logits of guessed histories.
    logits: Vec<f32>,
}

impl<'a> Lane<'a> {
    /// Opens episodes until the next run of them has no seats, or none is left.
    fn fill(&mut self, deal: &Deal<'a>) -> Result<(), PlayError> {
        while let Some(run) = deal.take(self.free_seats()) {
            for &(index, assignment) in run {
                self.open(index, assignment)?;
            }
        }
        Ok(())
    }

    fn free_seats(&self) -> usize {
        self.cohorts.len() - self.cohorts.iter().flatten().map(Cohort::len).sum::<usize>()
    }

    fn free_slot(&self) -> usize {
        let free = self.cohorts.iter().position(Option::is_none);
        free.expect("there are as many slots as seats, and a seat is free")
    }

    /// Opens an episode; one that is over at once takes no seat.
    fn open(&mut self, index: usize, assignment: &'a Assignment) -> Result<(), PlayError> {
        let mut episode = match Live::open(self.players, assignment)? {
            Opened::Over(played) => {
                self.finished(index, *played);
                return Ok(());
            }
            Opened::UnderWay(episode) => episode,
        };
        if let Some(guess) = self.players.guesses.about(assignment) {
            let slot = self.free_slot();
            self.begin(slot, &mut episode)?;
            if let Some(exit) = self.follow(slot, &mut episode, &guess)? {
                self.finished(index, episode.finish(exit)?);
                return Ok(());
            }
        }
        self.seat((index, episode))
    }

    /// Gives an episode a seat: in the cohort that is where it is, or in one of its own.
    fn seat(&mut self, seated: Seated<'a>) -> Result<(), PlayError> {
        let joined =
            self.cohorts.iter_mut().flatten().try_fold(seated, |seated, cohort| match cohort.join(seated) {
                Ok(()) => ControlFlow::Break(()),
                Err(seated) => ControlFlow::Continue(seated),
            });
        if let ControlFlow::Continue((index, mut episode)) = joined {
            let slot = self.free_slot();
            self.begin(slot, &mut episode)?;
            self.cohorts[slot] = Some(Cohort::of((index, episode)));
        }
        Ok(())
    }

    /// Has a slot hold the opening of an episode, but for its last token. It is read once for all members of a group.
    fn begin(&mut self, slot: usize, episode: &mut Live<'_>) -> Result<(), PlayError> {
        let holder = self.cohorts.len();
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
        let slots: Vec<usize> =
            (0..self.cohorts.len()).filter(|&slot| self.cohorts[slot].is_some()).collect();
        if slots.is_empty() {
            return Ok(false);
        }
        let work: Vec<(usize, &[u32])> = slots
            .iter()
            .filter_map(|&slot| self.cohorts[slot].as_ref().map(|cohort| (slot, cohort.unfed())))
            .collect();
        let logits = self.decoder.extend(&work)?;
        let (mut parted, mut over) = (Vec::new(), Vec::new());
        for (row, slot) in logits.rows().zip(slots) {
            let Some(cohort) = self.cohorts[slot].take() else { continue };
            self.players.meter.sampled(cohort.len());
            let advanced = cohort.advance(row)?;
            over.extend(advanced.over);
            let mut cohorts = advanced.parted.into_iter();
            self.cohorts[slot] = cohorts.next();
            parted.extend(cohorts.map(|cohort| (slot, cohort)));
        }
        for (from, cohort) in parted {
            let slot = self.free_slot();
            self.decoder.fork(from, slot)?;
            self.cohorts[slot] = Some(cohort);
        }
        for ((index, episode), exit) in over {
            self.finished(index, episode.finish(exit)?);
        }
        Ok(true)
    }

    fn finished(&mut self, index: usize, played: Played) {
        self.done.push((index, played));
        self.players.meter.played();
    }
}
