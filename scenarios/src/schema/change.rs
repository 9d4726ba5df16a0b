//! What may change in a scenario where a run is forked, and why the rest may not.

use std::collections::{BTreeMap, BTreeSet};

use super::Scenario;

/// When a key may change in the course of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changeable {
    /// At any step: it is read afresh by each decision.
    Always,
    /// Between iterations: within one, decisions that belong together read it.
    BetweenIterations,
    /// Never, for this reason.
    Never(&'static str),
}

/// A key that differs between two scenarios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The dotted key; list entries are named by their index.
    pub key: String,
    /// Its value in the one, as TOML; `None` where it has no such key.
    pub was: Option<String>,
    /// Its value in the other.
    pub becomes: Option<String>,
    /// When it may change.
    pub when: Changeable,
}

const DRAWN: Changeable = Changeable::Never("the held-out sets were drawn when the run began");

/// Tables and keys; the longest that fits a key counts. Keys of tables whose keys differ are listed one by one, so that a new
/// one needs a rule.
const RULES: &[(&str, Changeable)] = &[
    ("name", Changeable::Always),
    ("seed", Changeable::Never("every random number so far followed from it")),
    ("iterations", Changeable::Always),
    ("policy", Changeable::Never("the run began with the base policy that it names")),
    (
        "world",
        Changeable::Never("the held-out sets were drawn from it, and tasks must stay comparable with them"),
    ),
    (
        "harness",
        Changeable::Never("every trajectory so far was played under it, and the policy learnt from them"),
    ),
    ("sandbox", Changeable::Never("every task so far was validated under its limits")),
    ("generator", Changeable::BetweenIterations),
    ("curriculum.admission", Changeable::Always),
    ("curriculum.admission_last", Changeable::Always),
    ("curriculum.batch", Changeable::Always),
    ("curriculum.candidates", Changeable::Always),
    ("curriculum.wave", Changeable::Always),
    ("curriculum.refinements", Changeable::Always),
    ("curriculum.fill_nearest", Changeable::Always),
    ("curriculum.samples", Changeable::BetweenIterations),
    ("curriculum.pilot", Changeable::BetweenIterations),
    ("curriculum.train_on_calibration", Changeable::BetweenIterations),
    ("rollout", Changeable::BetweenIterations),
    ("update", Changeable::BetweenIterations),
    ("reward", Changeable::BetweenIterations),
    ("evaluation.sets", DRAWN),
    ("evaluation.sets.samples", Changeable::BetweenIterations),
    ("evaluation.sets.temperature", Changeable::BetweenIterations),
    ("evaluation.sets.greedy", Changeable::BetweenIterations),
    ("evaluation.sets.pass_at", Changeable::BetweenIterations),
    ("evaluation.sets.when", Changeable::BetweenIterations),
    ("log", Changeable::Always),
    ("exec", Changeable::Always),
];

/// The keys in which `child` differs from `parent`, ascending.
pub fn changes(parent: &Scenario, child: &Scenario) -> Vec<Change> {
    let (was, becomes) = (flat(parent), flat(child));
    let keys: BTreeSet<&String> = was.keys().chain(becomes.keys()).collect();
    let differing = keys.into_iter().filter(|key| was.get(*key) != becomes.get(*key));
    let change = |key: &String| Change {
        key: key.clone(),
        was: was.get(key).cloned(),
        becomes: becomes.get(key).cloned(),
        when: rule(key).unwrap_or(Changeable::Never("nothing says what the change would mean")),
    };
    differing.map(change).collect()
}

/// The rule of a key.
fn rule(key: &str) -> Option<Changeable> {
    let named: Vec<&str> = key.split('.').filter(|part| part.parse::<usize>().is_err()).collect();
    (1..=named.len()).rev().find_map(|parts| {
        let table = named[..parts].join(".");
        RULES.iter().find(|(name, _)| *name == table).map(|(_, when)| *when)
    })
}

/// Every key of a scenario with its value as TOML.
fn flat(scenario: &Scenario) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    // What a scenario prints is TOML; were it not, nothing could be compared, and nothing is.
    if let Ok(table) = scenario.to_toml().parse::<toml::Table>() {
        flatten("", &toml::Value::Table(table), &mut found);
    }
    found
}

fn flatten(key: &str, value: &toml::Value, found: &mut BTreeMap<String, String>) {
    let join = |part: &str| if key.is_empty() { part.to_owned() } else { format!("{key}.{part}") };
    match value {
        toml::Value::Table(table) => {
            table.iter().for_each(|(name, value)| flatten(&join(name), value, found));
        }
        toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| flatten(&join(&index.to_string()), item, found));
        }
        value => {
            found.insert(key.to_owned(), value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Override;

    fn with(key: &str, value: &str) -> Scenario {
        let text = Scenario::default().to_toml();
        Scenario::parse_with(&text, "a", &[Override::new(key, value)])
            .unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn every_key_has_a_rule() {
        let keys = flat(&Scenario::default());
        assert!(keys.len() > 80, "{}", keys.len());
        let without: Vec<&String> = keys.keys().filter(|key| rule(key).is_none()).collect();
        assert_eq!(without, Vec::<&String>::new());
    }

    #[test]
    fn every_rule_has_a_key() {
        let keys = flat(&Scenario::default());
        let named = |key: &String| -> String {
            key.split('.').filter(|part| part.parse::<usize>().is_err()).collect::<Vec<_>>().join(".")
        };
        for (name, _) in RULES {
            let covers = |key: &String| named(key) == *name || named(key).starts_with(&format!("{name}."));
            assert!(keys.keys().any(covers), "{name}");
        }
    }

    #[test]
    fn a_change_names_key_values_and_rule() {
        let parent = Scenario::default();
        assert_eq!(changes(&parent, &parent), []);
        for (key, value, was, becomes, when) in [
            ("curriculum.admission", "0 < p < 1", "\"3/8..5/8\"", "\"0 < p < 1\"", Changeable::Always),
            ("rollout.group", "4", "8", "4", Changeable::BetweenIterations),
            ("evaluation.sets.0.samples", "3", "1", "3", Changeable::BetweenIterations),
            ("evaluation.sets.0.tasks", "7", "240", "7", DRAWN),
        ] {
            let (was, becomes) = (Some(was.to_owned()), Some(becomes.to_owned()));
            let expected = Change { key: key.to_owned(), was, becomes, when };
            assert_eq!(changes(&parent, &with(key, value)), [expected]);
        }
        let found = changes(&parent, &with("seed", "2"));
        assert!(matches!(found[0].when, Changeable::Never(reason) if reason.contains("random number")));
    }

    #[test]
    fn a_set_more_is_a_change_of_what_was_drawn() {
        let mut child = Scenario::default();
        child.evaluation.sets.pop();
        let found = changes(&Scenario::default(), &child);
        assert!(
            found.iter().any(|change| change.key == "evaluation.sets.2.name" && change.becomes.is_none())
        );
        assert!(found.iter().any(|change| change.when == DRAWN));
    }
}
