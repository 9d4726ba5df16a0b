//! In which order mutants are tried as a task's fault.

use super::{Mutant, Operator};
use crate::draws::{Draws, DrawsExt as _};

/// An order over all mutants, as indices. At each place the operator is drawn first, `wrong_variable` with the given
/// share and the others uniformly, then one of its mutants: else the operators with the most mutants would make nearly
/// all faults.
pub fn preference(mutants: &[Mutant], wrong_variable_share: f64, draws: &mut dyn Draws) -> Vec<usize> {
    let mut groups: Vec<Vec<usize>> = Operator::ALL
        .iter()
        .map(|operator| (0..mutants.len()).filter(|index| mutants[*index].operator == *operator).collect())
        .collect();
    for group in &mut groups {
        draws.shuffle(group);
    }
    let capped = Operator::WrongVariable as usize;
    let mut order = Vec::with_capacity(mutants.len());
    while order.len() < mutants.len() {
        let others: Vec<usize> =
            (0..groups.len()).filter(|index| *index != capped && !groups[*index].is_empty()).collect();
        let take_capped = draws.chance(wrong_variable_share);
        let index = match draws.pick(&others) {
            Some(other) if groups[capped].is_empty() || !take_capped => *other,
            _ => capped,
        };
        order.extend(groups[index].pop());
    }
    order
}
