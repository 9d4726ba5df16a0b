//! Plays episodes along histories that they may turn out to have: what those have in common is read once, in stretches.

use tadpole_gpu::ArithmeticError;

use super::cohort::Seated;
use super::guess::{Guess, Stretch};
use super::lane::Lane;
use super::players::PlayError;

/// Tokens of guessed histories that are read at once: enough to amortise the weights, few enough that their logits stay in
/// the nearer caches.
const STRETCH: usize = 128;

/// An episode and the history that it may have. So far it has it.
pub(super) struct Guided<'a> {
    pub(super) seated: Seated<'a>,
    pub(super) guess: Guess,
}

/// Episodes with one history so far, which a slot holds up to a position.
struct Party<'a> {
    slot: usize,
    read: usize,
    members: Vec<Guided<'a>>,
}

impl Guided<'_> {
    /// What its guess says behind position `read`; `None` where that is nothing, or the guess was wrong.
    fn stretch(&self, read: usize) -> Option<Stretch<'_>> {
        let holds = self.guess.begins(self.seated.1.history());
        self.guess.stretch(read, STRETCH).filter(|_| holds)
    }
}

impl<'a> Party<'a> {
    /// Takes out those whose guess says nothing more.
    fn unguided(&mut self) -> Vec<Guided<'a>> {
        let read = self.read;
        self.members.extract_if(.., |member| member.stretch(read).is_none()).collect()
    }

    /// Takes out those that go on in another way than the first does.
    fn others(&mut self) -> Vec<Guided<'a>> {
        let read = self.read;
        let step = |member: &Guided<'_>| member.stretch(read).map(|stretch| stretch.first_step());
        let Some(first) = self.members.first().map(step) else { return Vec::new() };
        self.members.extract_if(.., |member| step(member) != first).collect()
    }

    /// What all guesses say next.
    fn common(&self) -> Option<Stretch<'_>> {
        let stretches = self.members.iter().map(|member| member.stretch(self.read));
        stretches.reduce(|one, other| Some(one?.common(&other?)))?
    }
}

impl<'a> Lane<'a> {
    /// Plays episodes of one opening along their guesses, to the end where they are right. Those for which one was wrong are
    /// given back, as far as they have come.
    pub(super) fn follow(&mut self, guided: Vec<Guided<'a>>) -> Result<Vec<Seated<'a>>, PlayError> {
        let mut strayed = Vec::new();
        // None of these episodes has a seat, and there is one for each: so there are as many slots.
        let mut free = self.free_slots();
        let mut parties = self.gather(guided, &mut free)?;
        while let Some(mut party) = parties.pop() {
            strayed.extend(party.unguided().into_iter().map(|member| member.seated));
            let others = party.others();
            if !others.is_empty() {
                let slot = spare(&mut free);
                self.decoder.fork(party.slot, slot)?;
                parties.push(Party { slot, members: others, ..party });
            }
            strayed.extend(self.read(&mut party)?);
            if party.members.is_empty() {
                free.push(party.slot);
            } else {
                parties.push(party);
            }
        }
        Ok(strayed)
    }

    /// A party for each opening.
    fn gather(
        &mut self,
        guided: Vec<Guided<'a>>,
        free: &mut Vec<usize>,
    ) -> Result<Vec<Party<'a>>, PlayError> {
        let mut parties: Vec<Party<'a>> = Vec::new();
        for mut member in guided {
            let (_, episode) = &mut member.seated;
            let alike = |party: &&mut Party<'a>| party.members[0].seated.1.history() == episode.history();
            if let Some(party) = parties.iter_mut().find(alike) {
                episode.fed(party.read);
                party.members.push(member);
            } else {
                let slot = spare(free);
                self.begin(slot, episode)?;
                parties.push(Party { slot, read: episode.prefix().len(), members: vec![member] });
            }
        }
        Ok(parties)
    }

    /// Reads what all guesses of a party say next, and has its episodes draw behind every token that was drawn. Gives back
    /// those that drew another.
    fn read(&mut self, party: &mut Party<'a>) -> Result<Vec<Seated<'a>>, PlayError> {
        let Some(Stretch { tokens, wanted }) = party.common() else { return Ok(Vec::new()) };
        match self.decoder.read(party.slot, tokens, &wanted, &mut self.logits) {
            Ok(()) => {}
            // A token that there is none of, more than the context holds: nobody drew that.
            Err(ArithmeticError::Token { .. } | ArithmeticError::Context { .. }) => {
                return Ok(party.members.drain(..).map(|member| member.seated).collect());
            }
            Err(error) => return Err(error.into()),
        }
        let end = party.read + tokens.len();
        let (mut strayed, mut over) = (Vec::new(), Vec::new());
        for (row, place) in self.logits.chunks_exact(self.vocab).zip(wanted) {
            let behind = party.read + place + 1;
            for mut member in std::mem::take(&mut party.members) {
                // The row's logits stand behind that many tokens of the guess: they must be the whole history, and be it.
                let (_, episode) = &mut member.seated;
                if episode.history().len() != behind || !member.guess.begins(episode.history()) {
                    strayed.push(member.seated);
                    continue;
                }
                self.players.meter.sampled(1);
                self.players.meter.followed(1);
                match episode.advance(row)? {
                    None => party.members.push(member),
                    Some(exit) => over.push((member.seated, exit)),
                }
            }
        }
        for ((index, episode), exit) in over {
            self.finished(index, episode.finish(exit)?);
        }
        party.read = end;
        Ok(strayed)
    }
}

/// A slot of those that no episode has.
#[expect(
    clippy::expect_used,
    reason = "a lane has as many slots as seats, and opens no more episodes than it has free seats"
)]
fn spare(free: &mut Vec<usize>) -> usize {
    free.pop().expect("there is a slot for each episode")
}
