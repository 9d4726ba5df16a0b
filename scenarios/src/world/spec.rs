//! The shape of the raw task distribution, as a scenario states it.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Statement levels: 0 quotes the faulty line, 4 describes the symptom alone.
pub const LEVELS: usize = 5;
/// Most functions in a project.
pub const FUNCTIONS_MAX: u32 = 12;
/// Most modules in a project.
pub const MODULES_MAX: u32 = 3;
/// Most bugs in a project.
pub const BUGS_MAX: u32 = 2;
/// Most test cases of a kind for one function.
pub const CASES_MAX: u32 = 12;

/// The raw distribution of tasks.
///
/// ```
/// let spec = tadpole_scenarios::world::WorldSpec::default();
/// assert_eq!(spec.strata.len(), 4);
/// assert!(spec.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorldSpec {
    /// Test cases of each function that the agent sees. Default 3, from 1 to 12.
    pub visible_cases: u32,
    /// Further test cases of each function that only grading sees. Default 6, from 1 to 12.
    pub hidden_cases: u32,
    /// Largest share of faults that may be of the operator `wrong_variable`, which alone makes half of all mutants.
    /// Default 0.15, from 0 to 1.
    pub wrong_variable_share: f64,
    /// Difficulty strata, at least one. Default: `s1` to `s4`, with equal weights.
    pub strata: Vec<Stratum>,
}

/// One band of difficulty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stratum {
    /// Its name, unique in the spec, e.g. `s3`.
    pub name: String,
    /// Its share of raw draws, relative to the other strata's weights; finite, at least 0. Default 1.
    #[serde(default = "Stratum::default_weight")]
    pub weight: f64,
    /// Fewest and most functions of a project, drawn uniformly; from 1 to 12. Default 3 to 4. A project never has
    /// fewer functions than the faulty ones and those they call.
    #[serde(default = "Stratum::default_functions")]
    pub functions: (u32, u32),
    /// Fewest and most modules, drawn uniformly; from 1 to 3. Default 1 to 2. Never more than there are functions.
    #[serde(default = "Stratum::default_modules")]
    pub modules: (u32, u32),
    /// Bugs injected: 1 or 2. Default 1.
    #[serde(default = "Stratum::default_bugs")]
    pub bugs: u32,
    /// Relative weights of the statement levels 0 (quotes the faulty line) to 4 (symptom only). Default: equal.
    #[serde(default = "Stratum::default_levels")]
    pub levels: [f64; LEVELS],
}

/// Why a spec was refused: which field, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: {reason}")]
pub struct SpecError {
    /// Dotted path of the field within the spec, e.g. `strata[2].bugs`.
    pub field: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Default for WorldSpec {
    fn default() -> Self {
        let stratum = |name: &str, functions, modules, bugs, levels| Stratum {
            name: name.to_owned(),
            weight: 1.0,
            functions,
            modules,
            bugs,
            levels,
        };
        Self {
            visible_cases: 3,
            hidden_cases: 6,
            wrong_variable_share: 0.15,
            strata: vec![
                stratum("s1", (1, 2), (1, 1), 1, [2.0, 1.0, 0.0, 0.0, 0.0]),
                stratum("s2", (3, 4), (1, 2), 1, [0.0, 1.0, 1.0, 1.0, 0.0]),
                stratum("s3", (6, 12), (2, 3), 1, [0.0, 0.0, 0.0, 1.0, 1.0]),
                stratum("s4", (2, 6), (1, 3), 2, [0.0, 1.0, 1.0, 1.0, 1.0]),
            ],
        }
    }
}

impl WorldSpec {
    /// Checks every range; the error names the first field that is out of it.
    pub fn check(&self) -> Result<(), SpecError> {
        within("visible_cases", self.visible_cases, 1, CASES_MAX)?;
        within("hidden_cases", self.hidden_cases, 1, CASES_MAX)?;
        if !(0.0..=1.0).contains(&self.wrong_variable_share) {
            return Err(refuse("wrong_variable_share", "must be from 0 to 1"));
        }
        if self.strata.is_empty() {
            return Err(refuse("strata", "must name at least one stratum"));
        }
        for (index, stratum) in self.strata.iter().enumerate() {
            stratum.check(&format!("strata[{index}]"))?;
            if self.strata[..index].iter().any(|earlier| earlier.name == stratum.name) {
                return Err(refuse(&format!("strata[{index}].name"), "is used by an earlier stratum"));
            }
        }
        weights("strata[].weight", &self.strata.iter().map(|stratum| stratum.weight).collect::<Vec<_>>())
    }
}

impl Stratum {
    fn default_weight() -> f64 {
        1.0
    }

    fn default_functions() -> (u32, u32) {
        (3, 4)
    }

    fn default_modules() -> (u32, u32) {
        (1, 2)
    }

    fn default_bugs() -> u32 {
        1
    }

    fn default_levels() -> [f64; LEVELS] {
        [1.0; LEVELS]
    }

    fn check(&self, path: &str) -> Result<(), SpecError> {
        if self.name.is_empty() {
            return Err(refuse(&format!("{path}.name"), "must not be empty"));
        }
        for (name, (low, high), most) in
            [("functions", self.functions, FUNCTIONS_MAX), ("modules", self.modules, MODULES_MAX)]
        {
            let field = format!("{path}.{name}");
            within(&field, low, 1, most)?;
            within(&field, high, 1, most)?;
            if low > high {
                return Err(refuse(&field, "the first number must not exceed the second"));
            }
        }
        within(&format!("{path}.bugs"), self.bugs, 1, BUGS_MAX)?;
        weights(&format!("{path}.levels"), &self.levels)
    }
}

fn refuse(field: &str, reason: &str) -> SpecError {
    SpecError { field: field.to_owned(), reason: reason.to_owned() }
}

fn within(field: &str, value: u32, low: u32, high: u32) -> Result<(), SpecError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(refuse(field, &format!("must be from {low} to {high}, is {value}")))
}

fn weights(field: &str, weights: &[f64]) -> Result<(), SpecError> {
    if weights.iter().any(|weight| !weight.is_finite() || *weight < 0.0) {
        return Err(refuse(field, "weights must be finite and at least 0"));
    }
    let total: f64 = weights.iter().sum();
    if total > 0.0 && total.is_finite() {
        return Ok(());
    }
    Err(refuse(field, "weights must not all be 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut WorldSpec)) -> String {
        let mut spec = WorldSpec::default();
        change(&mut spec);
        spec.check().unwrap_err().to_string()
    }

    #[test]
    fn out_of_range_fields_are_named() {
        assert_eq!(refused(|s| s.hidden_cases = 0), "hidden_cases: must be from 1 to 12, is 0");
        assert_eq!(refused(|s| s.strata[1].bugs = 3), "strata[1].bugs: must be from 1 to 2, is 3");
        assert_eq!(refused(|s| s.strata[0].levels = [0.0; 5]), "strata[0].levels: weights must not all be 0");
        assert!(refused(|s| s.strata[2].functions = (5, 4)).contains("must not exceed"));
        assert!(refused(|s| s.wrong_variable_share = f64::NAN).contains("wrong_variable_share"));
        assert!(refused(|s| s.strata[1].name = "s1".into()).contains("earlier stratum"));
        assert!(refused(|s| s.strata.clear()).contains("at least one"));
    }

    #[test]
    fn unknown_keys_are_refused_and_missing_ones_have_defaults() {
        let spec: WorldSpec = toml::from_str("[[strata]]\nname = \"a\"\n").unwrap();
        assert_eq!(spec.strata[0].functions, (3, 4));
        assert_eq!(spec.visible_cases, 3);
        assert!(toml::from_str::<WorldSpec>("visible = 3").is_err());
        assert!(toml::from_str::<WorldSpec>("[[strata]]\nname = \"a\"\nbug = 1").is_err());
    }
}
