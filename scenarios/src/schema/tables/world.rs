//! `[world]`: the raw distribution of tasks. The structs are the embedded world's own.

use std::ops::RangeInclusive;

use crate::schema::check::{Check, Length, Name};
use crate::schema::document::Tree;
use crate::schema::table::keys_of;
use crate::schema::value::{Scalar, choice_of, expected, scalars};
use crate::world::{BUGS_MAX, CASES_MAX, FUNCTIONS_MAX, LEVELS, MODULES_MAX, Split, Stratum, WorldSpec};

choice_of!(Split {
    Train = "train",
    UnseenParameters = "unseen_parameters",
    UnseenTemplates = "unseen_templates",
});

keys_of! {
    /// The raw distribution of tasks.
    WorldSpec {
        /// Test cases of each function that the agent sees.
        visible_cases: u32 = WorldSpec::default().visible_cases, 1..=CASES_MAX;
        /// Further test cases of each function that only grading sees.
        hidden_cases: u32 = WorldSpec::default().hidden_cases, 1..=CASES_MAX;
        /// Largest share of faults that may be of the operator `wrong_variable`, which alone makes half of all mutants.
        wrong_variable_share: f64 = WorldSpec::default().wrong_variable_share, 0.0..=1.0;
        /// Difficulty strata.
        strata: Vec<Stratum> = WorldSpec::default().strata, Length(1..=64);
    }
}

keys_of! {
    /// One band of difficulty.
    Stratum {
        /// Its name, unique in the scenario.
        name: String = String::new(), Name;
        /// Its share of raw draws, relative to the other strata's weights.
        weight: f64 = 1.0, 0.0..=1e6;
        /// Fewest and most functions of a project.
        functions: (u32, u32) = (3, 4), Ascending(1..=FUNCTIONS_MAX);
        /// Fewest and most modules.
        modules: (u32, u32) = (1, 2), Ascending(1..=MODULES_MAX);
        /// Bugs injected.
        bugs: u32 = 1, 1..=BUGS_MAX;
        /// Relative weights of the statement levels 0 (quotes the faulty line) to 4 (symptom only).
        levels: [f64; LEVELS] = [1.0; LEVELS], Weights;
    }
}

/// Two numbers of a range, the first not above the second.
struct Ascending(RangeInclusive<u32>);

impl Check<(u32, u32)> for Ascending {
    fn allows(&self, value: &(u32, u32)) -> bool {
        value.0 <= value.1 && self.0.contains(&value.0) && self.0.contains(&value.1)
    }

    fn describe(&self) -> String {
        format!("the fewest and the most, {} to {}", self.0.start(), self.0.end())
    }
}

/// Weights, at least one of which counts.
struct Weights;

impl Check<[f64; LEVELS]> for Weights {
    fn allows(&self, value: &[f64; LEVELS]) -> bool {
        value.iter().all(|weight| (0.0..=1e6).contains(weight)) && value.iter().any(|weight| *weight > 0.0)
    }

    fn describe(&self) -> String {
        format!("{LEVELS} numbers from 0 to 1e6, not all 0")
    }
}

scalars!((u32, u32), [f64; LEVELS]);

impl Scalar for (u32, u32) {
    const KIND: &'static str = "a list of two whole numbers";

    fn parse(tree: &Tree) -> Result<Self, String> {
        match Vec::<u32>::parse(tree)?.as_slice() {
            [low, high] => Ok((*low, *high)),
            _ => expected(Self::KIND, tree),
        }
    }

    fn render(&self) -> String {
        format!("[{}, {}]", self.0, self.1)
    }
}

impl Scalar for [f64; LEVELS] {
    const KIND: &'static str = "a list of numbers, one a statement level";

    fn parse(tree: &Tree) -> Result<Self, String> {
        let items = Vec::<f64>::parse(tree)?;
        Self::try_from(items).map_err(|items| format!("expected {LEVELS} numbers, found {}", items.len()))
    }

    fn render(&self) -> String {
        self.to_vec().render()
    }
}
