//! `[world]`: the raw distribution of tasks.

use crate::schema::check::{Anything, Length, Name};
use crate::schema::document::Tree;
use crate::schema::table::{Table, keys};
use crate::schema::value::{Scalar, choice, expected, scalars};

choice! {
    /// Where tasks are drawn from.
    pub enum Split {
        /// Training tasks.
        Train = "train",
        /// Held-out parameters of training templates.
        UnseenParameters = "unseen_parameters",
        /// Held-out templates.
        UnseenTemplates = "unseen_templates",
    }
}

keys! {
    /// The raw distribution of tasks.
    pub struct WorldSpec {
        /// Test cases of each function that the agent sees.
        visible_cases: u32 = 3, 1..=12;
        /// Further test cases of each function that only grading sees.
        hidden_cases: u32 = 6, 1..=12;
        /// Largest share of faults that may be of the operator `wrong_variable`, which alone makes half of all mutants.
        wrong_variable_share: f64 = 0.15, 0.0..=1.0;
        /// Difficulty strata.
        strata: Vec<Stratum> = default_strata(), Length(1..=64);
    }
}

keys! {
    /// One band of difficulty.
    pub struct Stratum {
        /// Its name, unique in the scenario.
        name: String = String::new(), Name;
        /// Its share of raw draws, relative to the other strata's weights.
        weight: f64 = 1.0, 0.0..=1e6;
        /// Fewest and most functions of a project.
        functions: (u32, u32) = (3, 4), Anything;
        /// Fewest and most modules.
        modules: (u32, u32) = (1, 2), Anything;
        /// Bugs injected.
        bugs: u32 = 1, 1..=2;
        /// Relative weights of the statement levels 0 (quotes the faulty line) to 4 (symptom only).
        levels: [f64; 5] = [1.0; 5], Anything;
    }
}

scalars!((u32, u32), [f64; 5]);

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

impl Scalar for [f64; 5] {
    const KIND: &'static str = "a list of five numbers";

    fn parse(tree: &Tree) -> Result<Self, String> {
        let items = Vec::<f64>::parse(tree)?;
        Self::try_from(items).map_err(|items| format!("expected {}, found {}", Self::KIND, items.len()))
    }

    fn render(&self) -> String {
        self.to_vec().render()
    }
}

fn default_strata() -> Vec<Stratum> {
    let stratum = |name: &str, functions, modules, bugs, levels| Stratum {
        name: name.to_owned(),
        functions,
        modules,
        bugs,
        levels,
        ..Stratum::defaults()
    };
    vec![
        stratum("s1", (1, 2), (1, 1), 1, [2.0, 1.0, 0.0, 0.0, 0.0]),
        stratum("s2", (3, 4), (1, 2), 1, [0.0, 1.0, 1.0, 1.0, 0.0]),
        stratum("s3", (6, 12), (2, 3), 1, [0.0, 0.0, 0.0, 1.0, 1.0]),
        stratum("s4", (2, 6), (1, 3), 2, [0.0, 1.0, 1.0, 1.0, 1.0]),
    ]
}
