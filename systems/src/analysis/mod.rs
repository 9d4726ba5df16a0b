//! What a run says about itself: figures, renderings and stories, from its log alone; and fresh measurements of its policies,
//! which are no part of it.

mod curriculum;
mod difference;
mod lesson;
mod policy;
mod remeasure;
pub mod shadow;
mod summary;
mod task;
mod trajectory;
mod update;

pub use curriculum::{Curriculum, IterationCurriculum};
pub use lesson::{Lesson, updates_on};
pub use policy::{Played, PolicyStory};
pub use remeasure::{Recalibrated, Recalibration, Shift, Tasks, evaluate, published, recalibrate};
pub use summary::{EvaluationSummary, IterationSummary, RunSummary, Summary, rejection_name};
pub use task::{Episode, Look, TaskStory};
pub use trajectory::{Part, SpelledToken, TrajectoryStory};
pub use update::UpdateStory;

use tadpole_kernel::blob::BlobError;
use tadpole_kernel::decide::DecideError;
use tadpole_kernel::replay::ReplayError;
use tadpole_kernel::run::RunError;

/// Why a story cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum StoryError {
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Its log does not replay.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A blob is missing or damaged.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// A tree cannot be decoded.
    #[error("a tree cannot be decoded: {0}")]
    Tree(String),
    /// Something could not be computed again.
    #[error(transparent)]
    Compute(#[from] DecideError),
}
