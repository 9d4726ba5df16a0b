//! What a run says about itself: summaries and renderings, folded from its events alone.

mod curriculum;
mod summary;

pub use curriculum::{Curriculum, IterationCurriculum};
pub use summary::{EvaluationSummary, IterationSummary, RunSummary, Summary};
