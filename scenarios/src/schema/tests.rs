//! Promises of the schema.

use super::*;

fn refused(text: &str) -> String {
    Scenario::parse(text, "test.toml").expect_err(text).to_string()
}

#[test]
fn an_empty_file_is_the_default_scenario() {
    assert_eq!(Scenario::parse("", "empty.toml").unwrap(), Scenario::default());
}

#[test]
fn printed_defaults_parse_back_to_the_defaults() {
    let printed = Scenario::print_defaults();
    assert_eq!(Scenario::parse(&printed, "defaults.toml").unwrap(), Scenario::default());
}

#[test]
fn every_key_of_the_printed_defaults_is_documented() {
    let printed = Scenario::print_defaults();
    let lines: Vec<&str> = printed.lines().collect();
    let mut documented_tables = std::collections::BTreeSet::new();
    let mut table = String::new();
    for (index, line) in lines.iter().enumerate() {
        let before = index.checked_sub(1).map_or("", |above| lines[above]);
        if let Some(header) = line.strip_prefix('[') {
            table = header.to_owned();
            // Further entries of a list repeat what the first one explained.
            assert!(before.starts_with('#') || documented_tables.contains(&table), "{line}");
        } else if line.contains(" = ") && !line.starts_with('#') {
            assert!(before.starts_with('#') || documented_tables.contains(&table), "{table} {line}");
            continue;
        }
        if line.is_empty() {
            documented_tables.insert(table.clone());
        }
    }
}

#[test]
fn the_resolved_scenario_states_every_key_and_parses_back() {
    let scenario = Scenario::parse("seed = 3\n[update]\nlearning_rate = 2.5e-4\n", "test.toml").unwrap();
    let resolved = scenario.to_toml();
    assert_eq!(Scenario::parse(&resolved, "resolved.toml").unwrap(), scenario);
    assert_eq!(Scenario::parse(&resolved, "resolved.toml").unwrap().to_toml(), resolved);
    assert!(resolved.contains("learning_rate = 0.00025\n"), "{resolved}");
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_a_suggestion() {
    assert_eq!(
        refused("seed = 1\n\n[curriculum]\nbatchs = 64\n"),
        "test.toml:4:1: curriculum.batchs: unknown key\n 4 | batchs = 64\n   | ^^^^^^\n  help: did you mean `batch`?"
    );
}
