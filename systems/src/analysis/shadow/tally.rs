//! A shadow in figures.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::super::curriculum::eighth;
use super::super::summary::rejection_name;
use super::walk::{Ending, Fate, Shadow};

/// What a rule makes of an iteration, in figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShadowIteration {
    /// The iteration.
    pub iteration: u32,
    /// Whether every figure is what the rule would have led to on the recorded policy: nothing it asks for is missing.
    pub certain: bool,
    /// Why the curriculum ended.
    pub ending: Ending,
    /// Recorded candidates that the rule comes to.
    pub candidates: u32,
    /// Of them, made by refining another.
    pub refined: u32,
    /// Recorded candidates that would not have been made.
    pub not_made: u32,
    /// Candidates to be refined in a way that was not recorded: unknown beyond this look.
    pub unknown: u32,
    /// Tasks within the rule.
    pub admitted: u32,
    /// Tasks that filled the batch once the budget was spent.
    pub filled: u32,
    /// Tasks that the batch lacks where the record ends.
    pub missing: u32,
    /// Of all tasks, those that are tasks of the recorded run, too.
    pub shared: u32,
    /// Candidates that left the funnel, by reason; those that filled the batch are not among them.
    pub rejected: BTreeMap<&'static str, u32>,
    /// Calibration looks.
    pub looks: u32,
    /// Of them, at candidates that became no task.
    pub looks_wasted: u32,
    /// Calibration trajectories.
    pub trajectories: u32,
    /// Of them, on candidates that became no task.
    pub trajectories_wasted: u32,
    /// Mean p-hat of the tasks.
    pub p_hat_mean: Option<f64>,
    /// Candidates that were looked at, by eighths of their pass rate: `[0/8, .., 8/8]`, rounded to the nearest, halves up.
    pub candidate_rates: [u32; 9],
    /// The same of tasks.
    pub task_rates: [u32; 9],
}

impl ShadowIteration {
    pub(super) fn of(shadow: &Shadow<'_>) -> Self {
        let Shadow { record, fates, tasks, unknown, ending } = shadow;
        let mut tally = Self::empty(record.iteration, *ending);
        let recorded: BTreeSet<_> = record.recorded().tasks.into_iter().collect();
        tally.shared = tasks.iter().filter(|&id| recorded.contains(id)).count() as u32;
        tally.unknown = unknown.len() as u32;
        tally.not_made = (record.candidates.len() - fates.len()) as u32;
        let mut task_rates = Vec::new();
        for (id, &fate) in fates {
            let Some(candidate) = record.candidates.get(id) else { continue };
            tally.candidates += 1;
            tally.refined += u32::from(candidate.refined.is_some());
            tally.count(fate);
            let (passed, sampled) = candidate.counts();
            let is_task = matches!(fate, Fate::Admitted | Fate::Filled);
            tally.look(candidate.looks.len() as u32, sampled, is_task);
            if sampled == 0 {
                continue;
            }
            tally.candidate_rates[eighth(passed, sampled)] += 1;
            if is_task {
                tally.task_rates[eighth(passed, sampled)] += 1;
                task_rates.push(f64::from(passed) / f64::from(sampled));
            }
        }
        if *ending == Ending::RecordEnds {
            tally.missing = record.terms.batch.saturating_sub(tasks.len() as u32);
        }
        tally.certain = tally.unknown == 0 && tally.missing == 0;
        let count = task_rates.len() as f64;
        tally.p_hat_mean = (count > 0.0).then(|| task_rates.iter().sum::<f64>() / count);
        tally
    }

    fn count(&mut self, fate: Fate) {
        match fate {
            Fate::Admitted => self.admitted += 1,
            Fate::Filled => self.filled += 1,
            Fate::Rejected(reason) => *self.rejected.entry(rejection_name(reason)).or_default() += 1,
            Fate::Refined(_) | Fate::Unknown(_) => {}
        }
    }

    fn look(&mut self, looks: u32, trajectories: u32, is_task: bool) {
        self.looks += looks;
        self.trajectories += trajectories;
        if !is_task {
            self.looks_wasted += looks;
            self.trajectories_wasted += trajectories;
        }
    }

    fn empty(iteration: u32, ending: Ending) -> Self {
        Self {
            iteration,
            certain: false,
            ending,
            candidates: 0,
            refined: 0,
            not_made: 0,
            unknown: 0,
            admitted: 0,
            filled: 0,
            missing: 0,
            shared: 0,
            rejected: BTreeMap::new(),
            looks: 0,
            looks_wasted: 0,
            trajectories: 0,
            trajectories_wasted: 0,
            p_hat_mean: None,
            candidate_rates: [0; 9],
            task_rates: [0; 9],
        }
    }
}
