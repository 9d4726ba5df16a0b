//! One core's share of the episodes: continuous batching over a fixed number of seats.

use std::ops::ControlFlow;

use tadpole_gpu::backend::{Decoder, Policy};

use super::assignment::Played;
use super::cohort::{Cohort, Seated};
use super::deal::Deal;
use super::follow::Guided;
use super::live::{Live, Opened};
use super::players::{PlayError, Players, SEATS};

/// Plays assignments until none is left. What an episode becomes does not depend on the lane or on its neighbours.
pub(super) fn run<'a>(
    players: &'a Players,
    policy: &dyn Policy,
    deal: &Deal<'a>,
) -> Result<Vec<(usize, Played)>, PlayError> {
    let mut lane = Lane {
        players,
        decoder: policy.decoder(SEATS + 1),
        vocab: policy.shape().vocab as usize,
        prefix: Vec::new(),
        cohorts: (0..SEATS).map(|_| None).collect(),
        done: Vec::new(),
        logits: Vec::new(),
    };
    while lane.fill(deal).and_then(|()| lane.decode()).inspect_err(|_| deal.end())? {}
    Ok(lane.done)
}

pub(super) struct Lane<'a> {
    pub(super) players: &'a Players,
    /// A slot for each seat, and the last one for `prefix`.
    pub(super) decoder: Box<dyn Decoder>,
    pub(super) vocab: usize,
    /// What the opening of the last episode was, but for its last token: the members of a group share it.
    prefix: Vec<u32>,
    /// By slot. *Invariant*: all their episodes together are at most as many as there are slots, so that a slot is free for
    /// each that parts from its cohort.
    cohorts: Vec<Option<Cohort<'a>>>,
    done: Vec<(usize, Played)>,
    /// Room for logits of guessed histories.
    pub(super) logits: Vec<f32>,
}

impl<'a> Lane<'a> {
    /// Opens episodes until there are no seats for the next hand of them, or none is left.
    fn fill(&mut self, deal: &Deal<'a>) -> Result<(), PlayError> {
        loop {
            let free = self.free_seats();
            let Some(hand) = deal.take(free, free == self.cohorts.len()) else { return Ok(()) };
            let (mut guided, mut unguided) = (Vec::new(), Vec::new());
            for &(index, assignment) in hand {
                match Live::open(self.players, assignment)? {
                    Opened::Over(played) => self.finished(index, *played),
                    Opened::UnderWay(episode) => match self.players.guesses.about(assignment) {
                        Some(guess) => guided.push(Guided { seated: (index, episode), guess }),
                        None => unguided.push((index, episode)),
                    },
                }
            }
            unguided.extend(self.follow(guided)?);
            for seated in unguided {
                self.seat(seated)?;
            }
        }
    }

    fn free_seats(&self) -> usize {
        self.cohorts.len() - self.cohorts.iter().flatten().map(Cohort::len).sum::<usize>()
    }

    pub(super) fn free_slots(&self) -> Vec<usize> {
        (0..self.cohorts.len()).filter(|&slot| self.cohorts[slot].is_none()).collect()
    }

    #[expect(
        clippy::expect_used,
        reason = "all cohorts together have at most as many episodes as there are slots"
    )]
    fn free_slot(&self) -> usize {
        let free = self.cohorts.iter().position(Option::is_none);
        free.expect("there are as many slots as seats, and a seat is free")
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
    pub(super) fn begin(&mut self, slot: usize, episode: &mut Live<'_>) -> Result<(), PlayError> {
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

    /// Draws the next token of every live episode; `false` where there is none.
    fn decode(&mut self) -> Result<bool, PlayError> {
        let taken = self.cohorts.iter_mut().enumerate();
        let live: Vec<(usize, Cohort<'a>)> =
            taken.filter_map(|(slot, cohort)| cohort.take().map(|cohort| (slot, cohort))).collect();
        if live.is_empty() {
            return Ok(false);
        }
        let work: Vec<(usize, &[u32])> = live.iter().map(|(slot, cohort)| (*slot, cohort.unfed())).collect();
        let logits = self.decoder.extend(&work)?;
        let (mut parted, mut over) = (Vec::new(), Vec::new());
        for (row, (slot, cohort)) in logits.rows().zip(live) {
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

    pub(super) fn finished(&mut self, index: usize, played: Played) {
        self.done.push((index, played));
        self.players.meter.played();
    }
}
