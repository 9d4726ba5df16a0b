//! A task in the generator's space: a few numbers from which project, fault and statement follow.

use serde::{Deserialize, Serialize};

use super::spec::{BUGS_MAX, FUNCTIONS_MAX, LEVELS, MODULES_MAX, WorldSpec};
use super::split::Split;
use crate::draws::Draws;

/// What determines a task, together with the spec's counts of test cases. The seed alone determines the faulty functions
/// and their faults: the same seed gives the same bug under any level, in any surroundings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blueprint {
    /// Of every stream that the project is drawn from.
    pub seed: u64,
    /// Part of the world.
    pub split: Split,
    /// Name of the stratum it was drawn from; a refinement keeps it.
    pub stratum: String,
    /// Statement level, from 0 (quotes the faulty line) to 4 (symptom only).
    pub level: u8,
    /// Functions asked for. The project has more where the faulty ones and those they call are more.
    pub functions: u32,
    /// Modules asked for. The project has fewer where functions are fewer.
    pub modules: u32,
    /// Bugs.
    pub bugs: u32,
    /// The index of each of the first bugs among its function's mutants, best first, where a task before this one settled it;
    /// the others are tried in that order.
    #[serde(default)]
    pub kept: Vec<u32>,
}

/// Which way a refinement is meant to move the pass rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A bug less; or more localising information, and less around the bug.
    Easier,
    /// A bug more; or less localising information, and more around the bug.
    Harder,
}

/// Levels that a refinement moves the statement by: one alone hardly shows in pass rates.
const LEVEL_STEP: u8 = 2;

impl Blueprint {
    /// Draws one from the raw distribution.
    pub fn draw(spec: &WorldSpec, split: Split, draws: &mut dyn Draws) -> Self {
        let seed = draws.next_u64();
        let weights: Vec<f64> = spec.strata.iter().map(|stratum| stratum.weight).collect();
        let default = WorldSpec::default();
        let strata = if spec.strata.is_empty() { &default.strata } else { &spec.strata };
        let stratum = &strata[draws.weighted(&weights)];
        let level = draws.weighted(&stratum.levels) as u8;
        let mut between = |(low, high): (u32, u32)| draws.between(i64::from(low), i64::from(high)) as u32;
        let functions = between(stratum.functions);
        let modules = between(stratum.modules);
        Self {
            seed,
            split,
            stratum: stratum.name.clone(),
            level,
            functions,
            modules,
            bugs: stratum.bugs,
            kept: Vec::new(),
        }
    }

    /// One step easier or harder. The strongest lever comes first: a bug less or more, the others staying what they are.
    /// Where the count of bugs cannot move, the statement moves, and the surroundings by a third of the functions and a
    /// module. `None` where nothing is left to move.
    #[must_use]
    pub fn refine(&self, direction: Direction) -> Option<Self> {
        let refined = match direction {
            Direction::Easier if self.bugs > 1 => self.with_bugs(self.bugs - 1),
            Direction::Harder if self.bugs < BUGS_MAX => self.with_bugs(self.bugs + 1),
            Direction::Easier => Self {
                level: self.level.saturating_sub(LEVEL_STEP),
                functions: (self.functions * 2 / 3).max(self.bugs).min(self.functions),
                modules: self.modules.saturating_sub(1).max(1),
                ..self.clone()
            },
            Direction::Harder => Self {
                level: (self.level + LEVEL_STEP).min(LEVELS as u8 - 1).max(self.level),
                functions: (self.functions + self.functions.div_ceil(2))
                    .min(FUNCTIONS_MAX)
                    .max(self.functions),
                modules: (self.modules + 1).min(MODULES_MAX),
                ..self.clone()
            },
        };
        (refined != *self).then_some(refined)
    }

    fn with_bugs(&self, bugs: u32) -> Self {
        let kept = self.kept.iter().take(bugs as usize).copied().collect();
        Self { bugs, kept, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::SeedDraws;

    #[test]
    fn refinement_keeps_the_seed_moves_one_way_and_ends() {
        let spec = WorldSpec::default();
        let mut draws = SeedDraws::new(1, "refinement");
        for _ in 0..200 {
            let first = Blueprint::draw(&spec, Split::Train, &mut draws);
            for direction in [Direction::Easier, Direction::Harder] {
                let (mut now, mut steps) = (first.clone(), 0);
                while let Some(next) = now.refine(direction) {
                    let difficulty =
                        |of: &Blueprint| [of.bugs, u32::from(of.level), of.functions, of.modules];
                    let mut moved = difficulty(&next).into_iter().zip(difficulty(&now));
                    let easier = direction == Direction::Easier;
                    assert!(moved.all(|(next, now)| if easier { next <= now } else { next >= now }));
                    assert_eq!((next.seed, next.split), (first.seed, first.split), "{now:?} to {next:?}");
                    (now, steps) = (next, steps + 1);
                    assert!(steps < 20);
                }
            }
        }
    }

    #[test]
    fn draws_stay_within_their_stratum() {
        let spec = WorldSpec::default();
        let mut draws = SeedDraws::new(2, "strata");
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..400 {
            let drawn = Blueprint::draw(&spec, Split::Train, &mut draws);
            let stratum = spec.strata.iter().find(|stratum| stratum.name == drawn.stratum).unwrap();
            assert!((stratum.functions.0..=stratum.functions.1).contains(&drawn.functions));
            assert!((stratum.modules.0..=stratum.modules.1).contains(&drawn.modules));
            assert!(stratum.levels[drawn.level as usize] > 0.0);
            assert_eq!(stratum.bugs, drawn.bugs);
            seen.insert(drawn.stratum);
        }
        assert_eq!(seen.len(), 4);
    }
}
