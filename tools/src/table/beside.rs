//! The tables of iterations of two runs, row by row beside one another.

use tadpole_systems::analysis::IterationSummary;

use super::iterations::{COLUMNS, rows};
use super::{Align, layout};

/// Both tables: of each iteration first the left run's row, then the right one's.
pub(crate) fn beside(left: &[IterationSummary], right: &[IterationSummary]) -> String {
    let (left, right) = (rows(left), rows(right));
    let mut columns = COLUMNS.to_vec();
    columns.insert(1, ("run", Align::Left));
    let named = |row: Option<&Vec<String>>, name: &str| {
        let mut row = row?.clone();
        row.insert(1, name.to_owned());
        Some(row)
    };
    let pairs = (0..left.len().max(right.len()))
        .flat_map(|at| [named(left.get(at), "left"), named(right.get(at), "right")]);
    layout(&columns, &pairs.flatten().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::samples;

    #[test]
    fn each_iteration_has_a_row_of_each_run() {
        let left = samples::run().iterations;
        let mut right = left.clone();
        right.truncate(1);
        insta::assert_snapshot!(beside(&left, &right));
    }
}
