//! What every backend refuses in the same words, and where it says that a number is not finite.

use super::{Objective, Sequence, TrainBatch};
use crate::error::ArithmeticError;
use crate::shape::ModelShape;
use crate::transformer::Fault;

/// Rows that a decoder takes through the layers together: their activations stay in the nearer caches. Of several rows
/// that are refused, one of the earliest such stretch is named.
pub(crate) const DECODE_ROWS: usize = 128;
/// Rows of logits that are computed together when scoring, with the same consequence.
pub(crate) const SCORE_ROWS: usize = 64;

/// Refuses tokens outside the vocabulary. `first` is the position of the first one.
pub(crate) fn check_tokens(
    shape: &ModelShape,
    sequence: usize,
    first: usize,
    tokens: &[u32],
) -> Result<(), ArithmeticError> {
    let vocab = shape.vocab;
    if let Some(offset) = tokens.iter().position(|&token| token >= vocab) {
        return Err(ArithmeticError::Token {
            token: tokens[offset],
            vocab,
            sequence,
            position: first + offset,
        });
    }
    let needed = first + tokens.len();
    if needed > shape.context as usize {
        return Err(ArithmeticError::Context { sequence, needed, context: shape.context });
    }
    Ok(())
}

/// Refuses to read nothing, or places that are not ascending ones of `tokens`.
pub(crate) fn check_wanted(tokens: &[u32], wanted: &[usize]) -> Result<(), ArithmeticError> {
    let ascending = wanted.is_sorted_by(|one, next| one < next);
    let inside = wanted.last().is_none_or(|&last| last < tokens.len());
    if ascending && inside && !tokens.is_empty() {
        Ok(())
    } else {
        Err(ArithmeticError::Sequence {
            sequence: 0,
            reason: "wanted are not ascending places of the tokens",
        })
    }
}

/// Refuses a sequence that cannot be scored or trained on.
pub(crate) fn check_sequence(
    shape: &ModelShape,
    index: usize,
    sequence: &Sequence,
) -> Result<(), ArithmeticError> {
    check_tokens(shape, index, 0, &sequence.tokens)?;
    let refuse = |reason| Err(ArithmeticError::Sequence { sequence: index, reason });
    let mut end = 1;
    for span in &sequence.targets {
        if span.start < end || span.end < span.start {
            return refuse("targets are not ascending, disjoint and behind the first token");
        }
        end = span.end;
    }
    if sequence.target_count() > 0 && end as usize > sequence.tokens.len() {
        return refuse("a target lies behind the last token");
    }
    Ok(())
}

/// A fault of one sequence whose rows are its positions.
pub(crate) fn fault_at(fault: Fault, sequence: usize) -> ArithmeticError {
    ArithmeticError::NotFinite { quantity: fault.quantity, layer: fault.layer, sequence, position: fault.row }
}

/// Refuses what is no temperature.
pub(crate) fn check_temperature(value: f32, allow_zero: bool) -> Result<(), ArithmeticError> {
    if value.is_finite() && (value > 0.0 || (allow_zero && value == 0.0)) {
        Ok(())
    } else {
        Err(ArithmeticError::Parameter { name: "temperature", value })
    }
}

/// Refuses a batch, an objective or a learning rate that no trainer can use.
pub(crate) fn check_batch(
    shape: &ModelShape,
    batch: &TrainBatch,
    objective: &Objective,
    rate: f32,
) -> Result<(), ArithmeticError> {
    check_temperature(batch.temperature, false)?;
    if !(rate.is_finite() && rate >= 0.0) {
        return Err(ArithmeticError::Parameter { name: "learning rate", value: rate });
    }
    for (index, sequence) in batch.sequences.iter().enumerate() {
        check_sequence(shape, index, &sequence.sequence)?;
        let refuse = |reason| Err(ArithmeticError::Sequence { sequence: index, reason });
        if !(sequence.weight.is_finite() && sequence.weight >= 0.0) {
            return refuse("its weight is not a finite number of at least 0");
        }
        let count = sequence.sequence.target_count();
        let dppo = matches!(objective, Objective::Dppo(_));
        if dppo && (sequence.advantages.len() != count || sequence.rollout_log_probs.len() != count) {
            return refuse("not one advantage and one rollout log-probability a target");
        }
    }
    if batch.sequences.iter().all(|sequence| sequence.sequence.target_count() == 0) {
        return Err(ArithmeticError::Sequence { sequence: 0, reason: "the batch has no target" });
    }
    Ok(())
}
