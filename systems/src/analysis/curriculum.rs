//! A text rendering of how a curriculum evolved, made to be a snapshot.
//!
//! It holds counts alone, no digests and no times, so that a change in it is a change in the curriculum.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use tadpole_kernel::event::{Direction, Event, TaskAdmittedV1};
use tadpole_kernel::id::StableId;

use super::summary::rejection_name;

/// The curriculum of a run, an entry an iteration, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Curriculum {
    /// By iteration.
    pub iterations: BTreeMap<u32, IterationCurriculum>,
    origins: BTreeMap<StableId, Traits>,
    current: u32,
}

/// What happened to the candidates of one iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IterationCurriculum {
    /// Candidates drawn afresh.
    pub drawn: u32,
    /// Candidates made easier from another.
    pub easier: u32,
    /// Candidates made harder from another.
    pub harder: u32,
    /// Candidates whose hidden tests were found sound.
    pub validated: u32,
    /// Calibration looks.
    pub looks: u32,
    /// Calibration trajectories.
    pub calibrated: u32,
    /// Rejections by reason.
    pub rejected: BTreeMap<&'static str, u32>,
    /// Tasks admitted in band.
    pub admitted: u32,
    /// Tasks filled in as nearest mixed groups.
    pub filled: u32,
    /// Candidates by eighths of their pass rate: `[0/8, .., 8/8]`, rounded to the nearest eighth, halves up.
    pub candidate_rates: [u32; 9],
    /// The same of admitted tasks.
    pub admitted_rates: [u32; 9],
    /// Admitted tasks by statement level.
    pub levels: BTreeMap<u8, u32>,
    /// Admitted tasks by stratum.
    pub strata: BTreeMap<String, u32>,
    /// Bugs of admitted tasks by mutation operator.
    pub operators: BTreeMap<String, u32>,
    #[serde(skip)]
    looks_by_candidate: BTreeMap<StableId, (u32, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Traits {
    level: u8,
    stratum: String,
    operators: Vec<String>,
}

impl Curriculum {
    /// Folds the events of a log.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut curriculum = Self::default();
        for event in events {
            curriculum.add(event);
        }
        curriculum
    }

    /// Takes in the next event of the log.
    pub fn add(&mut self, event: &Event) {
        match event {
            Event::IterationStarted(started) => self.current = started.iteration.0,
            Event::CandidateGenerated(generated) => {
                let origin = &generated.content.origin;
                let (level, stratum, operators) =
                    (origin.level, origin.stratum.clone(), origin.operators.clone());
                self.origins.insert(generated.candidate, Traits { level, stratum, operators });
                let entry = self.entry();
                match generated.refined.as_ref().map(|refined| refined.direction) {
                    None => entry.drawn += 1,
                    Some(Direction::Easier) => entry.easier += 1,
                    Some(Direction::Harder) => entry.harder += 1,
                }
            }
            Event::CandidateValidated(_) => self.entry().validated += 1,
            Event::CandidateRejected(rejected) => {
                *self.entry().rejected.entry(rejection_name(rejected.reason)).or_default() += 1;
            }
            Event::CandidateCalibrated(look) => {
                let entry = self.entry();
                entry.looks += 1;
                entry.calibrated += look.sampled;
                let (passed, sampled) = entry.looks_by_candidate.entry(look.candidate).or_default();
                *passed += look.passed;
                *sampled += look.sampled;
            }
            Event::TaskAdmitted(admitted) => self.admit(admitted),
            Event::BatchClosed(_) => self.entry().close(),
            Event::IterationFinished(_) => self.origins.clear(),
            _ => {}
        }
    }

    fn entry(&mut self) -> &mut IterationCurriculum {
        self.iterations.entry(self.current).or_default()
    }

    fn admit(&mut self, admitted: &TaskAdmittedV1) {
        let traits = self.origins.get(&admitted.candidate).cloned();
        let entry = self.entry();
        if admitted.in_band {
            entry.admitted += 1;
        } else {
            entry.filled += 1;
        }
        entry.admitted_rates[eighth(admitted.passed, admitted.sampled)] += 1;
        let Some(traits) = traits else { return };
        *entry.levels.entry(traits.level).or_default() += 1;
        *entry.strata.entry(traits.stratum).or_default() += 1;
        for operator in traits.operators {
            *entry.operators.entry(operator).or_default() += 1;
        }
    }
}

impl IterationCurriculum {
    fn close(&mut self) {
        for (passed, sampled) in std::mem::take(&mut self.looks_by_candidate).into_values() {
            self.candidate_rates[eighth(passed, sampled)] += 1;
        }
    }
}

/// The nearest eighth of a share, halves up.
pub(super) fn eighth(passed: u32, sampled: u32) -> usize {
    if sampled == 0 { 0 } else { ((16 * passed + sampled) / (2 * sampled)).min(8) as usize }
}

impl fmt::Display for Curriculum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (iteration, entry)) in self.iterations.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            writeln!(out, "iteration {iteration}")?;
            write!(out, "{entry}")?;
        }
        Ok(())
    }
}

impl fmt::Display for IterationCurriculum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "  drawn      {:>5}", self.drawn)?;
        writeln!(
            out,
            "  refined    {:>5}   easier {}, harder {}",
            self.easier + self.harder,
            self.easier,
            self.harder
        )?;
        writeln!(out, "  validated  {:>5}", self.validated)?;
        writeln!(out, "  looks      {:>5}   {} trajectories", self.looks, self.calibrated)?;
        writeln!(out, "  rejected   {:>5}   {}", self.rejected.values().sum::<u32>(), list(&self.rejected))?;
        writeln!(
            out,
            "  admitted   {:>5}   in band {}, filled {}",
            self.admitted + self.filled,
            self.admitted,
            self.filled
        )?;
        writeln!(out, "  levels             {}", list(&self.levels))?;
        writeln!(out, "  strata             {}", list(&self.strata))?;
        writeln!(out, "  operators          {}", list(&self.operators))?;
        writeln!(out, "  k/N        candidates  admitted")?;
        let widest =
            self.candidate_rates.iter().chain(&self.admitted_rates).copied().max().unwrap_or(0).max(1);
        for (rate, (candidates, admitted)) in
            self.candidate_rates.iter().zip(&self.admitted_rates).enumerate()
        {
            let bar = |count: &u32, glyph: &str| glyph.repeat((count * 24).div_ceil(widest) as usize);
            let bars = format!("{:<25}{}", bar(candidates, "o"), bar(admitted, "#"));
            let line = format!("  {rate}/8        {candidates:>10}  {admitted:>8}   {bars}");
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

fn list<K: fmt::Display>(counts: &BTreeMap<K, u32>) -> String {
    if counts.is_empty() {
        return "-".to_owned();
    }
    counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}
