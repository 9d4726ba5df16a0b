//! Episodes whose histories are the same so far: one slot of the decoder serves them all, until their draws part them.

use tadpole_kernel::event::Exit;

use super::live::Live;
use super::players::PlayError;

/// An episode under way and its index among the assignments.
pub(super) type Seated<'a> = (usize, Box<Live<'a>>);

/// Episodes with one history, of which the decoder has seen the same part.
pub(super) struct Cohort<'a> {
    first: Seated<'a>,
    others: Vec<Seated<'a>>,
}

/// What became of a cohort once each of its episodes has drawn a token.
pub(super) struct Advanced<'a> {
    /// Those that go on, by what their history is now.
    pub(super) parted: Vec<Cohort<'a>>,
    /// Those that are over.
    pub(super) over: Vec<(Seated<'a>, Exit)>,
}

impl<'a> Cohort<'a> {
    /// An episode alone.
    pub(super) fn of(first: Seated<'a>) -> Self {
        Self { first, others: Vec::new() }
    }

    /// Takes in an episode that has its history; gives back one that has not.
    pub(super) fn join(&mut self, mut other: Seated<'a>) -> Result<(), Seated<'a>> {
        let (_, first) = &self.first;
        if first.history() != other.1.history() {
            return Err(other);
        }
        other.1.fed(first.history().len() - first.unfed().len());
        self.others.push(other);
        Ok(())
    }

    /// Episodes.
    pub(super) fn len(&self) -> usize {
        1 + self.others.len()
    }

    /// Tokens that the decoder has not seen.
    pub(super) fn unfed(&self) -> &[u32] {
        self.first.1.unfed()
    }

    /// Has every episode draw from the logits behind the last token.
    pub(super) fn advance(self, logits: &[f32]) -> Result<Advanced<'a>, PlayError> {
        let mut advanced = Advanced { parted: Vec::new(), over: Vec::new() };
        for mut seated in std::iter::once(self.first).chain(self.others) {
            if let Some(exit) = seated.1.advance(logits)? {
                advanced.over.push((seated, exit));
                continue;
            }
            // All had the same history, so what was appended tells them apart.
            let alike = advanced.parted.iter_mut().find(|cohort| cohort.unfed() == seated.1.unfed());
            match alike {
                Some(cohort) => cohort.others.push(seated),
                None => advanced.parted.push(Self::of(seated)),
            }
        }
        Ok(advanced)
    }
}
