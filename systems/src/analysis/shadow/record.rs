//! What a log says about the candidates of each iteration.

use std::collections::BTreeMap;

use tadpole_kernel::event::{CandidateGeneratedV1, Direction, Event, Refinement, Rejection};
use tadpole_kernel::id::{StableId, Step};
use tadpole_kernel::run::{RunError, RunReader};
use tadpole_scenarios::schema::{Curriculum as Terms, Scenario};

use super::walk::{Ending, Fate, Shadow};
use crate::curriculum::rule::{Calibrated, Curriculum};

/// The recorded calibrations of a run, an entry an iteration whose batch was closed.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibrations {
    /// By iteration, ascending.
    pub iterations: Vec<IterationCalibrations>,
    terms: Terms,
    open: Option<IterationCalibrations>,
    round: Judging,
}

/// The recorded candidates of one iteration, with what bounded them.
#[derive(Clone, Debug, PartialEq)]
pub struct IterationCalibrations {
    /// The iteration.
    pub iteration: u32,
    pub(super) terms: Terms,
    pub(super) candidates: BTreeMap<StableId, Recorded>,
    pub(super) draws: BTreeMap<u32, StableId>,
    tasks: Vec<StableId>,
    ending: Ending,
}

/// One candidate, as the log has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recorded {
    pub(super) draw: u32,
    pub(super) refined: Option<Refinement>,
    pub(super) looks: Vec<(u32, u32)>,
    pub(super) fate: Option<Fate>,
    /// What it was refined to, and which way.
    pub(super) successor: Option<(StableId, Direction)>,
    /// The way in which a refinement was tried and could not be made.
    pub(super) stuck: Option<Direction>,
}

/// The candidates that one step judged, as far as they were to be refined.
#[derive(Clone, Debug, Default, PartialEq)]
struct Judging {
    step: Step,
    spent_before: usize,
    /// By id: the way in which a refinement is missing, `None` where it was made.
    wanted: BTreeMap<StableId, Option<Direction>>,
}

impl Calibrations {
    /// Reads the log of a run; `scenario` is its own.
    pub fn read(run: &RunReader, scenario: &Scenario) -> Result<Self, RunError> {
        let mut read = Self::new(scenario);
        for entry in run.events()? {
            let (commit, _, event) = entry?;
            read.add(commit.step, &event);
        }
        Ok(read)
    }

    /// Nothing yet, of a run of `scenario`.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let terms = scenario.curriculum.clone();
        Self { iterations: Vec::new(), terms, open: None, round: Judging::default() }
    }

    /// Takes in the next event of the log, committed in `step`.
    pub fn add(&mut self, step: Step, event: &Event) {
        if let Event::IterationStarted(started) = event {
            self.open = Some(IterationCalibrations::new(started.iteration.0, &self.terms));
        }
        let Some(iteration) = &mut self.open else { return };
        if self.round.step != step {
            iteration.take_round(std::mem::take(&mut self.round));
            self.round = Judging { step, spent_before: iteration.candidates.len(), ..Judging::default() };
        }
        match event {
            Event::CandidateGenerated(made) => iteration.generated(made, &mut self.round),
            Event::CandidateCalibrated(look) => {
                if let Some(candidate) = iteration.candidates.get_mut(&look.candidate) {
                    candidate.looks.push((look.passed, look.sampled));
                }
            }
            Event::CandidateRejected(it) => iteration.rejected(it.candidate, it.reason, &mut self.round),
            Event::TaskAdmitted(it) => {
                let fate = if it.in_band { Fate::Admitted } else { Fate::Filled };
                iteration.settle(it.candidate, fate);
                iteration.tasks.push(it.candidate);
            }
            Event::BatchClosed(closed) => {
                iteration.ending = if closed.budget_spent { Ending::BudgetSpent } else { Ending::BatchFull };
                self.iterations.extend(self.open.take());
            }
            _ => {}
        }
    }

    /// What the recorded rule did.
    pub fn recorded(&self) -> impl Iterator<Item = Shadow<'_>> {
        self.iterations.iter().map(IterationCalibrations::recorded)
    }

    /// What `rule_of` an iteration would have done.
    pub fn under<R: Curriculum>(&self, rule_of: impl Fn(u32) -> R) -> impl Iterator<Item = Shadow<'_>> {
        self.iterations.iter().map(move |iteration| iteration.under(&rule_of(iteration.iteration)))
    }
}

impl IterationCalibrations {
    fn new(iteration: u32, terms: &Terms) -> Self {
        Self {
            iteration,
            terms: terms.clone(),
            candidates: BTreeMap::new(),
            draws: BTreeMap::new(),
            tasks: Vec::new(),
            ending: Ending::RecordEnds,
        }
    }

    /// What the recorded rule did, as facts: nothing is decided again.
    #[must_use]
    pub fn recorded(&self) -> Shadow<'_> {
        let fates = self.candidates.iter().filter_map(|(&id, it)| Some((id, it.fate?))).collect();
        Shadow {
            record: self,
            fates,
            tasks: self.tasks.clone(),
            unknown: BTreeMap::new(),
            ending: self.ending,
        }
    }

    /// What `rule` would have done.
    #[must_use]
    pub fn under(&self, rule: &dyn Curriculum) -> Shadow<'_> {
        super::walk::walk(self, rule)
    }

    pub(super) fn calibrated(&self, candidate: &Recorded) -> Calibrated {
        let (passed, sampled) = candidate.counts();
        let (depth, came) =
            candidate.refined.as_ref().map_or((0, None), |refined| (refined.depth, Some(refined.direction)));
        Calibrated { passed, sampled, wanted: self.terms.samples, depth, came }
    }

    fn generated(&mut self, made: &CandidateGeneratedV1, round: &mut Judging) {
        match &made.refined {
            None => {
                self.draws.insert(made.draw, made.candidate);
            }
            Some(Refinement { parent, direction, .. }) => {
                round.wanted.insert(*parent, None);
                if let Some(parent) = self.candidates.get_mut(parent) {
                    parent.successor = Some((made.candidate, *direction));
                    parent.fate = Some(Fate::Refined(made.candidate));
                }
            }
        }
        let recorded = Recorded {
            draw: made.draw,
            refined: made.refined.clone(),
            looks: Vec::new(),
            fate: None,
            successor: None,
            stuck: None,
        };
        self.candidates.insert(made.candidate, recorded);
    }

    fn rejected(&mut self, candidate: StableId, reason: Rejection, round: &mut Judging) {
        let direction = match reason {
            Rejection::TooHard => Some(Direction::Easier),
            Rejection::TooEasy => Some(Direction::Harder),
            _ => None,
        };
        let known = self.candidates.get(&candidate).map(|candidate| self.calibrated(candidate));
        let could = |way: &Direction| known.is_some_and(|known| known.may_go(*way, self.terms.refinements));
        if let Some(direction) = direction.filter(could) {
            round.wanted.insert(candidate, Some(direction));
        }
        self.settle(candidate, Fate::Rejected(reason));
    }

    fn settle(&mut self, candidate: StableId, fate: Fate) {
        if let Some(candidate) = self.candidates.get_mut(&candidate) {
            candidate.fate = Some(fate);
        }
    }

    /// A refinement that is missing though batch and budget allowed it was tried and could not be made: the first `allowed` of
    /// those that a step wants are tried.
    fn take_round(&mut self, round: Judging) {
        let full = self.tasks.len() >= self.terms.batch as usize;
        let allowed =
            if full { 0 } else { (self.terms.candidates as usize).saturating_sub(round.spent_before) };
        for (candidate, missing) in round.wanted.into_iter().take(allowed) {
            if let (Some(direction), Some(candidate)) = (missing, self.candidates.get_mut(&candidate)) {
                candidate.stuck = Some(direction);
            }
        }
    }
}

impl Recorded {
    /// Passes and trajectories over all looks.
    pub(super) fn counts(&self) -> (u32, u32) {
        self.looks.iter().fold((0, 0), |(k, n), look| (k + look.0, n + look.1))
    }

    /// The reason for which validation rejected it, so that nobody looked at it.
    pub(super) fn unsound(&self) -> Option<Rejection> {
        match self.fate {
            Some(Fate::Rejected(reason)) if self.looks.is_empty() => Some(reason),
            _ => None,
        }
    }
}
