//! `[curriculum]` and `[generator]`: where tasks come from.

use crate::schema::admission::{Admission, LastAdmission};
use crate::schema::check::{Anything, Each};
use crate::schema::table::keys;
use crate::schema::value::choice;

choice! {
    /// Who makes candidate tasks.
    pub enum GeneratorKind {
        /// Projects drawn from templates, faults injected by syntax-tree mutation.
        Mutation = "mutation",
        /// A process outside that answers requests; its answers are recorded as effects.
        Process = "process",
    }
}

keys! {
    /// `TaskPilot`: how candidates are calibrated, refined and admitted to the batch of an iteration.
    pub struct Curriculum {
        /// Which pass rates (k of N calibration trajectories) become tasks.
        admission: Admission = default_admission(), Anything;
        /// The rule of the last iteration; "same" for that of the others.
        admission_last: LastAdmission = LastAdmission::Same, Anything;
        /// Tasks in the batch of an iteration.
        batch: u32 = 128, 1..=65_536;
        /// Candidates an iteration may calibrate, refined ones included. When they are spent before the batch is full, it
        /// is filled as `fill_nearest` says.
        candidates: u32 = 320, 1..=1_048_576;
        /// Candidates that are generated and calibrated together.
        wave: u32 = 32, 1..=65_536;
        /// N: trajectories that calibrate a candidate, pilot included.
        samples: u32 = 8, 1..=1_024;
        /// Trajectories of a first look; a candidate that none or all of them solve gets no further ones. 0 for no pilot.
        pilot: u32 = 4, 0..=1_023;
        /// Refinements of one raw draw, all in one direction, each calibrated again.
        refinements: u32 = 3, 0..=16;
        /// Whether a batch that the budget left short is filled with the candidates nearest to the band that some but not all
        /// trajectories solved. They are recorded as out of band.
        fill_nearest: bool = true, Anything;
        /// Whether admitted tasks train on their calibration trajectories instead of fresh ones: saves all rollouts, at the
        /// price of a selection bias and stale policy versions.
        train_on_calibration: bool = false, Anything;
    }
}

fn default_admission() -> Admission {
    Admission::eighths(3, 5)
}

impl Curriculum {
    /// The admission rule of `iteration` (from 1) of a run of `iterations`.
    pub fn admission_at(&self, iteration: u32, iterations: u32) -> Admission {
        match self.admission_last {
            LastAdmission::Rule(rule) if iteration == iterations => rule,
            _ => self.admission,
        }
    }
}

keys! {
    /// Who makes candidate tasks.
    pub struct Generator {
        /// "mutation" draws from the embedded world; "process" asks a command.
        kind: GeneratorKind = GeneratorKind::Mutation, Anything;
        /// Attempts at one raw draw whose candidates turn out invalid, before the draw is given up.
        attempts: u32 = 8, 1..=1_024;
        /// Program and arguments of the process that answers requests, with kind = "process" (docs/generators.md). The program
        /// is looked up beside the scenario file first.
        command: Vec<String> = Vec::new(), Each(0..=64, Anything);
    }
}
