//! Walks through an iteration's recorded draws under a rule.

use std::collections::BTreeMap;

use serde::Serialize;
use tadpole_kernel::event::{Direction, Rejection};
use tadpole_kernel::id::StableId;

use super::record::IterationCalibrations;
use super::tally::ShadowIteration;
use crate::curriculum::round::{self, Filler, Left, Settled, Wanted};
use crate::curriculum::rule::Curriculum;

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It became a task within the rule.
    Admitted,
    /// It filled the batch once the budget was spent.
    Filled,
    /// It left the funnel.
    Rejected(Rejection),
    /// It was made into this one.
    Refined(StableId),
    /// It was to be refined this way, and the log has no such successor.
    Unknown(Direction),
}

/// Why an iteration's curriculum ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The batch was full.
    BatchFull,
    /// The candidate budget was spent.
    BudgetSpent,
    /// The rule would have drawn more candidates than were recorded.
    RecordEnds,
}

/// What a rule makes of the recorded candidates of an iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Shadow<'r> {
    pub(super) record: &'r IterationCalibrations,
    /// Of every candidate that the rule comes to. The others would not have been made.
    pub fates: BTreeMap<StableId, Fate>,
    /// The candidates that became tasks, in order of admission.
    pub tasks: Vec<StableId>,
    /// The candidates that the rule would have refined in a way that was not recorded, those that filled the batch included.
    pub unknown: BTreeMap<StableId, Direction>,
    /// Why it ended.
    pub ending: Ending,
}

impl Shadow<'_> {
    /// The same in figures.
    #[must_use]
    pub fn tally(&self) -> ShadowIteration {
        ShadowIteration::of(self)
    }
}

/// The walk itself: where it stands.
struct Walk<'r> {
    record: &'r IterationCalibrations,
    fates: BTreeMap<StableId, Fate>,
    tasks: Vec<StableId>,
    unknown: BTreeMap<StableId, Direction>,
    spent: u32,
}

pub(super) fn walk<'r>(record: &'r IterationCalibrations, rule: &dyn Curriculum) -> Shadow<'r> {
    let mut walk =
        Walk { record, fates: BTreeMap::new(), tasks: Vec::new(), unknown: BTreeMap::new(), spent: 0 };
    let ending = walk.draw(rule);
    if ending == Ending::BudgetSpent && record.terms.fill_nearest {
        walk.fill(rule);
    }
    let Walk { fates, tasks, unknown, .. } = walk;
    Shadow { record, fates, tasks, unknown, ending }
}

impl Walk<'_> {
    /// Draws and judges wave after wave.
    fn draw(&mut self, rule: &dyn Curriculum) -> Ending {
        let mut drawn = 0;
        loop {
            let left = self.left();
            if left.room == 0 {
                return Ending::BatchFull;
            }
            let count = self.record.terms.wave.min(left.budget);
            if count == 0 {
                return Ending::BudgetSpent;
            }
            let wave = drawn..drawn + count;
            let known: Vec<StableId> = wave.map_while(|draw| self.record.draws.get(&draw)).copied().collect();
            let recorded = known.len() as u32;
            self.spent += count;
            drawn += count;
            self.judge(rule, known);
            if recorded < count {
                return if self.left().room == 0 { Ending::BatchFull } else { Ending::RecordEnds };
            }
        }
    }

    fn left(&self) -> Left {
        let terms = &self.record.terms;
        Left {
            room: (terms.batch as usize).saturating_sub(self.tasks.len()),
            budget: terms.candidates.saturating_sub(self.spent),
        }
    }

    /// Judges candidates and whatever they are refined to.
    fn judge(&mut self, rule: &dyn Curriculum, mut open: Vec<StableId>) {
        while !open.is_empty() {
            let mut due = Vec::with_capacity(open.len());
            for id in open {
                let Some(candidate) = self.record.candidates.get(&id) else { continue };
                match candidate.unsound() {
                    Some(reason) => _ = self.fates.insert(id, Fate::Rejected(reason)),
                    None => due.push((id, self.record.calibrated(candidate))),
                }
            }
            let round = round::judge(rule, self.left(), due);
            for (id, settled) in round.settled {
                match settled {
                    Settled::Admitted(_) => self.admit(id, Fate::Admitted),
                    Settled::Rejected(reason) => _ = self.fates.insert(id, Fate::Rejected(reason)),
                }
            }
            open = Vec::new();
            for (index, (id, wanted)) in round.wanted.into_iter().enumerate() {
                let fate = self.refine(id, wanted, index < round.allowed);
                open.extend(match fate {
                    Fate::Refined(successor) => Some(successor),
                    _ => None,
                });
                self.fates.insert(id, fate);
            }
        }
    }

    fn refine(&mut self, id: StableId, wanted: Wanted, allowed: bool) -> Fate {
        let Wanted { direction, otherwise } = wanted;
        let known = self.record.candidates.get(&id);
        if !allowed || known.is_some_and(|it| it.stuck == Some(direction)) {
            return Fate::Rejected(otherwise);
        }
        self.spent += 1;
        match known.and_then(|it| it.successor) {
            Some((successor, made)) if made == direction => Fate::Refined(successor),
            _ => {
                self.unknown.insert(id, direction);
                Fate::Unknown(direction)
            }
        }
    }

    fn fill(&mut self, rule: &dyn Curriculum) {
        let fillers = self.fates.iter().filter_map(|(&id, fate)| {
            let candidate = self.record.candidates.get(&id)?;
            let admitted = matches!(fate, Fate::Admitted);
            Some(Filler { id, draw: candidate.draw, admitted, calibrated: self.record.calibrated(candidate) })
        });
        for (id, _) in round::nearest(rule, fillers, self.left().room) {
            self.admit(id, Fate::Filled);
        }
    }

    fn admit(&mut self, id: StableId, fate: Fate) {
        self.fates.insert(id, fate);
        self.tasks.push(id);
    }
}
