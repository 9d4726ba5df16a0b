//! The embedded world: small Python projects made from templates, faults injected into them, and words about both.

mod spec;

pub use spec::{BUGS_MAX, CASES_MAX, FUNCTIONS_MAX, LEVELS, MODULES_MAX, SpecError, Stratum, WorldSpec};
