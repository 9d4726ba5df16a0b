//! Decides recorded calibrations again under other rules.

use std::path::Path;

use tadpole_scenarios::schema::{Admission, LastAdmission, Scenario};
use tadpole_systems::analysis::shadow::{Calibrations, Shadow};
use tadpole_systems::curriculum::rule::Banded;

use super::existing::Existing;
use super::failures;
use crate::arguments::Speed;
use crate::engine::{ShadowReport, ShadowRule};
use crate::failure::Failure;

/// What `rules` make of a run's calibrations, after what its own made.
pub(super) fn shadow(directory: &Path, rules: &[Admission]) -> Result<ShadowReport, Failure> {
    let run = Existing::open(directory, &Speed::default())?;
    let calibrations =
        Calibrations::read(&run.reader, &run.scenario).map_err(|error| failures::run(directory, &error))?;
    let mut shadows = vec![of(recorded_rule(&run.scenario), calibrations.recorded())];
    for &admission in rules {
        let refinements_max = run.scenario.curriculum.refinements;
        let rule = Banded { admission, refinements_max };
        shadows.push(of(admission.to_string(), calibrations.under(|_| rule.clone())));
    }
    Ok(ShadowReport { run_id: run.reader.run().to_hex(), rules: shadows })
}

fn of<'r>(rule: String, shadows: impl Iterator<Item = Shadow<'r>>) -> ShadowRule {
    ShadowRule { rule, iterations: shadows.map(|shadow| shadow.tally()).collect() }
}

fn recorded_rule(scenario: &Scenario) -> String {
    let curriculum = &scenario.curriculum;
    let last = match curriculum.admission_last {
        LastAdmission::Same => String::new(),
        LastAdmission::Rule(rule) => format!("; in the last iteration {rule}"),
    };
    format!("as recorded: {}{last}", curriculum.admission)
}
