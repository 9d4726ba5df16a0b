//! What `show` prints of a run.

use std::collections::BTreeSet;

use serde_json::Value;
use tadpole_tests::nano::{nano, run};
use tadpole_tests::{binary, commits};

const RUN: [&str; 7] = ["run_id", "chain", "world", "steps", "events", "cpu_s", "iterations"];
const ITERATION: [&str; 12] = [
    "iteration",
    "candidates",
    "admitted",
    "refined",
    "rejected",
    "p_hat_mean",
    "solve_rate",
    "solve_low",
    "solve_high",
    "entropy",
    "tokens_mean",
    "kept_share",
];

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn the_summary_has_exactly_the_promised_fields() {
    let shown = binary::run(["show", run().to_str().unwrap(), "--json"]).succeeded().json();
    assert_eq!(keys(&shown), RUN.into());
    let iterations = shown["iterations"].as_array().expect("a list");
    assert_eq!(iterations.len(), 4, "the base and three");
    for (index, iteration) in iterations.iter().enumerate() {
        assert_eq!(keys(iteration), ITERATION.into());
        assert_eq!(iteration["iteration"], index);
        let rate = |key: &str| iteration[key].as_f64().unwrap_or_else(|| panic!("{key} of {iteration}"));
        assert!(
            rate("solve_low") <= rate("solve_rate") && rate("solve_rate") <= rate("solve_high"),
            "{iteration}"
        );
        assert!(
            iteration["rejected"].as_object().expect("by reason").values().all(Value::is_u64),
            "{iteration}"
        );
        assert_eq!(iteration["p_hat_mean"].is_null(), index == 0, "{iteration}");
    }
}

#[test]
fn the_summary_says_what_the_log_says() {
    let shown = binary::run(["show", run().to_str().unwrap(), "--json"]).succeeded().json();
    let commits = commits(run());
    let last = commits.last().unwrap();
    assert_eq!(shown["chain"], last.chain.to_string());
    assert_eq!(shown["world"], last.world.to_string());
    assert_eq!(shown["steps"], commits.len());
    assert_eq!(shown["events"], nano().events.len());
}
