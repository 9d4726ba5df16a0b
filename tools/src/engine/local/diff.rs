//! Compares two runs.

use std::path::Path;

use tadpole_kernel::diff;
use tadpole_kernel::run::RunReader;
use tadpole_systems::analysis::RunSummary;

use super::failures;
use crate::engine::DiffReport;
use crate::failure::Failure;

/// Compares two runs.
pub(super) fn diff(left: &Path, right: &Path) -> Result<DiffReport, Failure> {
    let open = |run: &Path| RunReader::open(run).map_err(|error| failures::run(run, &error));
    let (one, other) = (open(left)?, open(right)?);
    let comparison = diff::compare(&one, &other).map_err(|error| failures::replay(left, &error))?;
    let summary =
        |reader: &RunReader| RunSummary::read(reader).map_err(|error| failures::run(reader.dir(), &error));
    Ok(DiffReport { comparison, left: summary(&one)?, right: summary(&other)? })
}
