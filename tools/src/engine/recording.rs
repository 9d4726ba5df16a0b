//! A run that is looked at step by step, while it may still be growing.

use std::ops::Range;

use super::{Shown, Subject};
use crate::failure::Failure;

/// A run, open for stepping through. Nothing here changes it.
pub(crate) trait Recording {
    /// What the run is called.
    fn title(&self) -> String;
    /// The steps committed since the last call, in order.
    fn more(&mut self) -> Result<Vec<Outline>, Failure>;
    /// The fields of the event `index` (from 0) of a step, as text.
    fn fields(&mut self, step: u64, index: usize) -> Result<String, Failure>;
    /// A part of what the world holds after a step.
    fn world(&mut self, step: u64, kind: Kind, rows: Range<usize>) -> Result<Sheet, Failure>;
    /// One thing, as `show` prints it.
    fn show(&mut self, subject: &Subject) -> Result<Shown, Failure>;
    /// A trajectory, token by token.
    fn episode(&mut self, trajectory: u64) -> Result<Episode, Failure>;
}

/// A committed step in outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    /// Its number.
    pub(crate) step: u64,
    /// The iteration it belongs to; 0 until the first one started.
    pub(crate) iteration: u32,
    /// Chain hash of its commit.
    pub(crate) chain: String,
    /// World digest of its commit.
    pub(crate) world: String,
    /// Its events; at least one.
    pub(crate) events: Vec<EventOutline>,
}

/// An event in outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventOutline {
    /// Its sequence number.
    pub(crate) sequence: u64,
    /// Its kind.
    pub(crate) name: &'static str,
    /// What it is about, in a few words.
    pub(crate) about: String,
    /// Every id in it.
    pub(crate) ids: Vec<u64>,
    /// What can be looked at more closely.
    pub(crate) subject: Option<Subject>,
}

/// A kind of thing in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Tasks, held-out ones included.
    Tasks,
    /// Candidates.
    Candidates,
    /// Trajectories.
    Trajectories,
    /// Policies.
    Policies,
}

impl Kind {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Self; 4] = [Self::Tasks, Self::Candidates, Self::Trajectories, Self::Policies];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Candidates => "candidates",
            Self::Trajectories => "trajectories",
            Self::Policies => "policies",
        }
    }
}

/// Rows of a table of the world, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sheet {
    /// Where the run stands, in words.
    pub(crate) stands: String,
    /// How many there are of each kind.
    pub(crate) counts: Vec<(Kind, usize)>,
    /// Headings.
    pub(crate) columns: &'static [&'static str],
    /// Which rows these are.
    pub(crate) range: Range<usize>,
    /// The rows.
    pub(crate) rows: Vec<SheetRow>,
}

impl Sheet {
    /// How many there are of a kind.
    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.counts.iter().find(|(of, _)| *of == kind).map_or(0, |(_, count)| *count)
    }
}

/// A row of a table of the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SheetRow {
    /// A cell for each heading.
    pub(crate) cells: Vec<String>,
    /// What it is about.
    pub(crate) subject: Subject,
}

/// A trajectory, token by token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Episode {
    /// What is known of it, a few lines.
    pub(crate) heading: String,
    /// Its whole history as it was seen and written.
    pub(crate) pieces: Vec<Piece>,
    /// The sampled tokens in each update that trained on it; one without an update where none did.
    pub(crate) lessons: Vec<TokenTable>,
}

/// A token of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// What it spells.
    pub(crate) text: String,
    /// Whether the policy wrote it.
    pub(crate) sampled: bool,
}

/// The sampled tokens of a trajectory in one update.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TokenTable {
    /// Which update, and what it made of the trajectory; or why there is none.
    pub(crate) title: String,
    /// A row for each sampled token, in order.
    pub(crate) tokens: Vec<TokenRow>,
}

/// A sampled token. What is not known is `None`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TokenRow {
    /// Its place among the pieces of the episode.
    pub(crate) piece: usize,
    /// Its position in its history.
    pub(crate) position: u32,
    /// What it spells.
    pub(crate) text: String,
    /// Its probability when it was sampled.
    pub(crate) q: f32,
    /// Its probability under the policy that was trained.
    pub(crate) p: Option<f32>,
    /// `p / q`.
    pub(crate) ratio: Option<f32>,
    /// Its advantage.
    pub(crate) advantage: Option<f32>,
    /// Whether it was trained on.
    pub(crate) kept: Option<bool>,
    /// Kept, or dropped and why; a dash where that is not known.
    pub(crate) fate: String,
}
