//! A trainer's state as bytes: the same whatever it ran on.
//!
//! `TADTRN\0` and the layout's version, 1 (8 bytes); then weights, moments and mean, each with its length in bytes in
//! front (u64, little-endian); without averaging the mean is empty.

use crate::error::ArithmeticError;
use crate::optim::{Average, Optimiser, StateError};
use crate::shape::ModelShape;
use crate::weights::Weights;

/// First bytes of a saved state, then the version of its layout.
const MAGIC: [u8; 8] = *b"TADTRN\0\x01";

/// The bytes of a state.
pub(crate) fn write(weights: &Weights, optimiser: &Optimiser, average: Option<&Average>) -> Vec<u8> {
    let mean = average.map_or_else(Vec::new, Average::state_bytes);
    let parts = [weights.canonical_bytes(), optimiser.state_bytes(), mean];
    // Megabytes at once: a buffer that grew would leave holes of all sizes behind, every update.
    let mut bytes = Vec::with_capacity(MAGIC.len() + parts.iter().map(|part| 8 + part.len()).sum::<usize>());
    bytes.extend_from_slice(&MAGIC);
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&part);
    }
    bytes
}

/// Takes up a state: optimiser and mean in place, the weights as the result.
pub(crate) fn read(
    bytes: &[u8],
    shape: &ModelShape,
    optimiser: &mut Optimiser,
    average: Option<&mut Average>,
) -> Result<Weights, ArithmeticError> {
    let bad = |error: StateError| ArithmeticError::State(error.to_string());
    let rest = bytes.strip_prefix(&MAGIC).ok_or_else(|| bad(StateError::Magic))?;
    let (weights, rest) = take_part(rest).ok_or_else(|| bad(StateError::Short))?;
    let (moments, rest) = take_part(rest).ok_or_else(|| bad(StateError::Short))?;
    let (mean, rest) = take_part(rest).ok_or_else(|| bad(StateError::Short))?;
    if !rest.is_empty() {
        return Err(bad(StateError::Long(rest.len())));
    }
    let weights = Weights::from_canonical(weights)?;
    if weights.shape() != shape {
        return Err(ArithmeticError::State("it is of another shape".to_owned()));
    }
    optimiser.restore(moments).map_err(bad)?;
    match average {
        Some(average) => average.restore(mean).map_err(bad)?,
        None if mean.is_empty() => {}
        None => return Err(ArithmeticError::State("it holds a mean that is not wanted".to_owned())),
    }
    Ok(weights)
}

/// A part with its length in front, and what follows it.
fn take_part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&len, rest) = bytes.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(len)).ok()?)
}
