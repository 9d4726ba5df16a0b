//! Test files: one function for each call and what it must give.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A call and what it must give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCase {
    /// Name of the function called.
    pub function: String,
    /// Number of the case among those of its function, from 1: the test is `test_<function>_<number>`.
    pub number: u32,
    /// The call, e.g. `count_rows([1, 2])`.
    pub call: String,
    /// What it gives, as a literal.
    pub expected: String,
}

/// Path of the tests of a module, visible and hidden ones alike.
#[must_use]
pub fn test_path(module: &str) -> String {
    format!("test_{module}.py")
}

/// Name of a test in its file.
#[must_use]
pub fn test_name(function: &str, number: u32) -> String {
    format!("test_{function}_{number}")
}

/// The tests of a module's functions. Hidden cases are best numbered on from the visible ones, so that a name means
/// one case.
///
/// ```
/// use tadpole_scenarios::world::{TestCase, test_file};
/// let case = TestCase { function: "low".into(), number: 1, call: "low(3)".into(), expected: "True".into() };
/// assert_eq!(
///     test_file("shop", &[case]),
///     "from shop import low\n\ndef test_low_1():\n    assert low(3) == True\n"
/// );
/// ```
#[must_use]
pub fn test_file(module: &str, cases: &[TestCase]) -> String {
    let names: BTreeSet<&str> = cases.iter().map(|case| case.function.as_str()).collect();
    let mut text = String::new();
    if !names.is_empty() {
        text = format!("from {module} import {}\n", names.into_iter().collect::<Vec<_>>().join(", "));
    }
    for case in cases {
        let name = test_name(&case.function, case.number);
        // Writing to a string cannot fail.
        write!(text, "\ndef {name}():\n    assert {} == {}\n", case.call, case.expected).ok();
    }
    text
}
