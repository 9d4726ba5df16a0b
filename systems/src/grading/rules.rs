//! F2P and P2P: which results count as done.

use std::collections::BTreeMap;

use crate::sandbox::{TestReport, TestStatus};

/// How a report stands to a task's tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Tests of F2P and P2P that did not do what they must, in their order.
    pub failing: Vec<String>,
}

/// Compares `report` with a task's tests. A test of F2P must pass explicitly: skipped or absent is a failure. A test of P2P
/// must pass or be skipped. A test that is reported more than once must do so every time.
pub fn outcome(fail_to_pass: &[String], pass_to_pass: &[String], report: &TestReport) -> Outcome {
    let mut statuses: BTreeMap<&str, Vec<&TestStatus>> = BTreeMap::new();
    for (id, status) in &report.tests {
        statuses.entry(id).or_default().push(status);
    }
    let all = |id: &String, holds: fn(&TestStatus) -> bool| {
        statuses.get(id.as_str()).is_some_and(|found| found.iter().all(|status| holds(status)))
    };
    let passed = |status: &TestStatus| *status == TestStatus::Passed;
    let not_broken = |status: &TestStatus| matches!(status, TestStatus::Passed | TestStatus::Skipped);
    let broken = fail_to_pass.iter().filter(|id| !all(id, passed));
    let regressed = pass_to_pass.iter().filter(|id| !all(id, not_broken));
    Outcome { failing: broken.chain(regressed).cloned().collect() }
}
