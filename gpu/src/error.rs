//! Why a computation is refused.

use crate::cuda::DeviceError;
use crate::dppo::DppoError;
use crate::shape::ShapeError;
use crate::vector::IsaError;
use crate::weights::WeightsError;
use thiserror::Error;

/// A quantity that was found not to be a finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Quantity {
    /// The residual stream in front of a norm.
    #[error("the residual stream")]
    Residual,
    /// A query or a key in front of its norm.
    #[error("a query or key")]
    QueryKey,
    /// The scores of a query against all keys.
    #[error("the attention scores")]
    Attention,
    /// The logits of a position.
    #[error("the logits")]
    Logits,
}

/// Why a computation is refused. Nothing is changed by a call that returns an error, except that the slots of a
/// decoder that were to be extended must be reset.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ArithmeticError {
    /// A result is infinite or not a number; named where it arises.
    #[error("{quantity} is not finite at position {position} of sequence {sequence}{}", layer_text(*.layer))]
    NotFinite {
        /// What it is.
        quantity: Quantity,
        /// The layer, from 0; none for what follows the last layer.
        layer: Option<usize>,
        /// The sequence, as an index into what the call was given.
        sequence: usize,
        /// The position in the sequence, from 0.
        position: usize,
    },
    /// A weight's gradient or new value is not finite.
    #[error("the optimiser step is not finite: {0}")]
    Step(String),
    /// The shape is not supported.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The weights are refused.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A device is not there or fails.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The instruction set is refused.
    #[error(transparent)]
    Isa(#[from] IsaError),
    /// The processor does not compute as IEEE 754 says on this thread: a library has set a fast mode.
    #[error("this thread flushes subnormals or does not round to nearest: results would not be exact")]
    Environment,
    /// A token id that the vocabulary does not have.
    #[error(
        "token {token} at position {position} of sequence {sequence} is outside the vocabulary of {vocab}"
    )]
    Token {
        /// The id.
        token: u32,
        /// The size of the vocabulary.
        vocab: u32,
        /// The sequence, as an index into what the call was given.
        sequence: usize,
        /// The position in the sequence, from 0.
        position: usize,
    },
    /// A sequence is longer than the context of the policy.
    #[error("sequence {sequence} needs {needed} positions; the context has {context}")]
    Context {
        /// The sequence, as an index into what the call was given.
        sequence: usize,
        /// Positions that it would have.
        needed: usize,
        /// Positions that there are.
        context: u32,
    },
    /// There is no such slot, or it is given twice in a call.
    #[error("slot {slot} does not exist or is given twice ({slots} slots)")]
    Slot {
        /// The slot.
        slot: usize,
        /// How many there are.
        slots: usize,
    },
    /// A sequence is malformed.
    #[error("sequence {sequence}: {reason}")]
    Sequence {
        /// The sequence, as an index into what the call was given.
        sequence: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// A temperature or a learning rate is not usable.
    #[error("{name} = {value} is not usable")]
    Parameter {
        /// What it is.
        name: &'static str,
        /// Its value.
        value: f32,
    },
    /// The objective refuses a token.
    #[error("sequence {sequence}: {error}")]
    Dppo {
        /// The sequence, as an index into what the call was given.
        sequence: usize,
        /// What is wrong; tokens are numbered by target.
        error: DppoError,
    },
    /// Bytes that are not a saved trainer.
    #[error("not the state of a trainer: {0}")]
    State(String),
}

impl ArithmeticError {
    /// Whether it says something about this machine rather than about what was to be computed: elsewhere, or another time,
    /// the same computation succeeds.
    #[must_use]
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::Device(_) | Self::Environment | Self::Isa(_))
    }
}

fn layer_text(layer: Option<usize>) -> String {
    layer.map_or_else(String::new, |layer| format!(", layer {layer}"))
}
