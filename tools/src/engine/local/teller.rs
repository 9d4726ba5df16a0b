//! Turns what was committed into what an observer is told.

use std::collections::BTreeMap;

use tadpole_kernel::event::{CandidateCalibratedV1, EvaluationFinishedV1, Event, UpdateAppliedV1};
use tadpole_kernel::id::StableId;
use tadpole_kernel::world::{self, WorldView};
use tadpole_scenarios::schema::Scenario;
use tadpole_systems::analysis::{EvaluationSummary, rejection_name};
use tadpole_systems::{evaluation, update};

use crate::progress::{Notice, Phase};

/// Follows a run along its log.
pub(super) struct Teller<'a> {
    scenario: &'a Scenario,
    /// Passes and trajectories of the candidates of the iteration.
    looks: BTreeMap<StableId, (u32, u32)>,
    phase: Option<(u32, Phase)>,
    updates: u32,
}

impl<'a> Teller<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        Self { scenario, looks: BTreeMap::new(), phase: None, updates: 0 }
    }

    /// The phase that the next step belongs to, where it is another than the last one's.
    pub(super) fn phase(&mut self, view: &WorldView<'_>) -> Option<Notice> {
        let progress = view.progress();
        let iteration = progress.iteration.0;
        self.updates = update::plan::updates(progress, self.scenario);
        let (phase, done, total) = match progress.phase {
            world::Phase::Opening => (Phase::Opening, 0, 1),
            world::Phase::Evaluating if !progress.iteration_finished => {
                let due = evaluation::plan::due(progress, self.scenario);
                let trajectories = due.map(|due| u64::from(due.set.tasks) * u64::from(due.samples));
                (Phase::Evaluating, 0, trajectories.sum())
            }
            world::Phase::Curriculum => {
                (Phase::Curriculum, progress.batch.len() as u64, u64::from(self.scenario.curriculum.batch))
            }
            world::Phase::Training => (Phase::Training, u64::from(progress.updates), u64::from(self.updates)),
            world::Phase::Evaluating | world::Phase::Refused | world::Phase::Finished => return None,
        };
        let is_new = self.phase.replace((iteration, phase)) != Some((iteration, phase));
        is_new.then_some(Notice::PhaseStarted { iteration, phase, done, total })
    }

    /// What the events of a step come to.
    pub(super) fn events(&mut self, events: &[Event]) -> Vec<Notice> {
        let generated = events.iter().filter_map(|event| match event {
            Event::CandidateGenerated(generated) => Some(generated),
            _ => None,
        });
        let (candidates, refined) = generated
            .fold((0, 0), |(count, refined), one| (count + 1, refined + u32::from(one.refined.is_some())));
        let generated = (candidates > 0).then_some(Notice::Generated { candidates, refined });
        generated.into_iter().chain(events.iter().filter_map(|event| self.event(event))).collect()
    }

    fn event(&mut self, event: &Event) -> Option<Notice> {
        Some(match event {
            Event::IterationStarted(started) => {
                self.looks.clear();
                Notice::IterationStarted { iteration: started.iteration.0 }
            }
            Event::CandidateCalibrated(look) => self.calibrated(look),
            Event::TaskAdmitted(_) => Notice::Admitted,
            Event::CandidateRejected(rejected) => {
                Notice::Rejected { reason: rejection_name(rejected.reason).replace('_', " ") }
            }
            Event::BatchClosed(closed) => Notice::BatchClosed { budget_spent: closed.budget_spent },
            Event::UpdateApplied(update) => self.updated(update),
            Event::EvaluationFinished(event) => self.evaluated(event),
            _ => return None,
        })
    }

    fn calibrated(&mut self, look: &CandidateCalibratedV1) -> Notice {
        let known = self.looks.entry(look.candidate).or_default();
        let before = (known.1 > 0).then_some(*known);
        known.0 += look.passed;
        known.1 += look.sampled;
        Notice::Calibrated { passed: known.0, sampled: known.1, before }
    }

    fn updated(&self, update: &UpdateAppliedV1) -> Notice {
        Notice::Updated {
            update: update.update,
            updates: self.updates.max(update.update + 1),
            kept_share: if update.tokens > 0 { update.kept as f64 / update.tokens as f64 } else { 1.0 },
            entropy: update.entropy,
            kl: update.kl,
            gradient_norm: f64::from(update.gradient_norm),
        }
    }

    fn evaluated(&self, event: &EvaluationFinishedV1) -> Notice {
        let EvaluationSummary { set, temperature, solve_rate, solve_low, solve_high, .. } = event.into();
        let main = self.scenario.evaluation.sets.first();
        let main = main
            .is_some_and(|main| (&main.name, main.temperature.to_bits()) == (&set, temperature.to_bits()));
        Notice::Evaluated { set, temperature, solve_rate, low: solve_low, high: solve_high, main }
    }
}

#[cfg(test)]
mod tests {
    use tadpole_kernel::event::{CandidateRejectedV1, IterationStartedV1, PassAt, Rejection};
    use tadpole_kernel::id::{Iteration, Visit};

    use super::*;

    fn look(look: u32, passed: u32, sampled: u32) -> Event {
        let (candidate, look) = (StableId(7), Visit(look));
        Event::CandidateCalibrated(CandidateCalibratedV1 { candidate, look, passed, sampled })
    }

    fn measured(set: &str, temperature: f32) -> Event {
        Event::EvaluationFinished(EvaluationFinishedV1 {
            iteration: Iteration(1),
            set: set.into(),
            temperature,
            tasks: 10,
            samples: 2,
            solved: 5,
            pass_at: vec![PassAt { k: 1, value: 0.25 }],
            low: 0.1,
            high: 0.5,
            entropy: 0.2,
            tokens_mean: 40.0,
        })
    }

    #[test]
    fn looks_at_a_candidate_add_up_within_an_iteration() {
        let scenario = Scenario::default();
        let mut teller = Teller::new(&scenario);
        let told = teller.events(&[look(0, 2, 4), look(1, 1, 4)]);
        let expected = [
            Notice::Calibrated { passed: 2, sampled: 4, before: None },
            Notice::Calibrated { passed: 3, sampled: 8, before: Some((2, 4)) },
        ];
        assert_eq!(told, expected);
        let next = IterationStartedV1 { iteration: Iteration(2), policy: StableId(1) };
        let told = teller.events(&[Event::IterationStarted(next), look(0, 4, 4)]);
        assert_eq!(told[0], Notice::IterationStarted { iteration: 2 });
        assert_eq!(told[1], Notice::Calibrated { passed: 4, sampled: 4, before: None });
    }

    #[test]
    fn the_main_measurement_is_the_sampled_one_of_the_first_set() {
        let scenario = Scenario::default();
        let main = &scenario.evaluation.sets[0];
        let mut teller = Teller::new(&scenario);
        let events = [
            measured(&main.name, main.temperature),
            measured(&main.name, 0.0),
            measured("other", main.temperature),
        ];
        let told: Vec<bool> = teller
            .events(&events)
            .iter()
            .map(|notice| matches!(notice, Notice::Evaluated { main: true, solve_rate, .. } if solve_rate.to_bits() == 0.25_f64.to_bits()))
            .collect();
        assert_eq!(told, [true, false, false]);
    }

    #[test]
    fn reasons_are_told_in_words() {
        let scenario = Scenario::default();
        let rejected = CandidateRejectedV1 { candidate: StableId(7), reason: Rejection::TooHard };
        let told = Teller::new(&scenario).events(&[Event::CandidateRejected(rejected)]);
        assert_eq!(told, [Notice::Rejected { reason: "too hard".into() }]);
    }
}
