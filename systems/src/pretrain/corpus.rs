//! The stream of demonstrations: the n-th of a stage is a function of seed, stage and n.

use std::collections::VecDeque;
use std::sync::Arc;

use tadpole_kernel::draws::{Stream, StreamKey};
use tadpole_kernel::id::{Iteration, Visit};
use tadpole_scenarios::draws::Draws;
use tadpole_scenarios::schema::PretrainScenario;

use super::demonstration::{Demonstration, DemonstrationError, Demonstrator, Noise};
use crate::parallel;
use crate::tokenizer::{Tokenizer, TokenizerError};

/// Why there is no next demonstration.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// One could not be made.
    #[error(transparent)]
    Demonstration(#[from] DemonstrationError),
    /// It could not be read as tokens.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

/// Demonstrations made together: enough for every thread.
const WAVE: u32 = 32;

/// A stream of demonstrations.
pub struct Corpus {
    scenario: Arc<PretrainScenario>,
    demonstrator: Demonstrator,
    tokenizer: Option<Arc<Tokenizer>>,
    threads: usize,
    /// The stage under way, and how many of its demonstrations were made.
    place: (usize, u32),
    ready: VecDeque<Demonstration>,
}
