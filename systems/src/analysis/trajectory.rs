//! What a log says about one trajectory, turn by turn and token by token.

use serde::Serialize;
use tadpole_gpu::math;
use tadpole_kernel::event::{Event, Exit, Facts, Purpose, Segment, TrajectoryFinishedV1};
use tadpole_kernel::id::{Iteration, Member, StableId, Step, Version, Visit};
use tadpole_kernel::run::RunReader;
use tadpole_scenarios::repository::Tree;

use super::StoryError;
use super::difference::unified;
use super::task::TaskStory;
use crate::tokenizer::Tokenizer;

/// A trajectory with its transcript.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrajectoryStory {
    /// Its id.
    pub trajectory: StableId,
    /// The candidate or task it was played on.
    pub subject: StableId,
    /// The step that recorded it.
    pub step: Step,
    /// What for.
    pub purpose: Purpose,
    /// In which iteration.
    pub iteration: Iteration,
    /// By which policy version.
    pub version: Version,
    /// Which look or update.
    pub visit: Visit,
    /// Its place in the group.
    pub member: Member,
    /// How it ended.
    pub exit: Exit,
    /// What grading found.
    pub facts: Facts,
    /// Before the length term.
    pub raw_reward: f32,
    /// After it.
    pub reward: f32,
    /// Mean entropy, nats a sampled token.
    pub entropy: f32,
    /// Tool calls.
    pub tool_calls: u32,
    /// Sampled tokens.
    pub sampled: u32,
    /// Token histories: one, unless a history was rewritten on the way.
    pub segments: Vec<Vec<Part>>,
    /// What it changed, as a unified diff against the repository.
    pub patch: String,
}

/// A stretch of a history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Whether the policy wrote it; otherwise it is prompt or observation.
    pub sampled: bool,
    /// Position of its first token.
    pub start: u32,
    /// What it spells.
    pub text: String,
    /// Its tokens; of context, too, but without log-probabilities.
    pub tokens: Vec<SpelledToken>,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpelledToken {
    /// Its id.
    pub id: u32,
    /// What it spells.
    pub text: String,
    /// Its log-probability when it was sampled.
    pub log_prob: Option<f32>,
    /// Its probability then.
    pub q: Option<f32>,
}

impl TrajectoryStory {
    /// Collects the story of the trajectory `id`; `None` where there is none.
    pub fn read(run: &RunReader, tokenizer: &Tokenizer, id: StableId) -> Result<Option<Self>, StoryError> {
        for entry in run.events()? {
            let (commit, _, event) = entry?;
            if let Event::TrajectoryFinished(played) = event
                && played.trajectory == id
            {
                return Self::of(run, tokenizer, commit.step, &played).map(Some);
            }
        }
        Ok(None)
    }

    fn of(
        run: &RunReader,
        tokenizer: &Tokenizer,
        step: Step,
        played: &TrajectoryFinishedV1,
    ) -> Result<Self, StoryError> {
        let change = Tree::from_canonical(&run.blobs().bulk(&played.patch)?)
            .map_err(|error| StoryError::Tree(error.to_string()))?;
        let base = TaskStory::found(run, played.subject)?.map(|(_, contents)| contents.snapshot);
        Ok(Self {
            trajectory: played.trajectory,
            subject: played.subject,
            step,
            purpose: played.purpose,
            iteration: played.iteration,
            version: played.version,
            visit: played.visit,
            member: played.member,
            exit: played.exit,
            facts: played.facts,
            raw_reward: played.raw_reward,
            reward: played.reward,
            entropy: played.entropy,
            tool_calls: played.tool_calls,
            sampled: played.segments.iter().map(|segment| segment.log_probs.len() as u32).sum(),
            segments: played.segments.iter().map(|segment| parts(segment, tokenizer)).collect(),
            patch: unified(&base.unwrap_or_default(), &change),
        })
    }
}

/// A history cut where the policy began and stopped to write.
fn parts(segment: &Segment, tokenizer: &Tokenizer) -> Vec<Part> {
    let ids = segment.tokens.unpack();
    let mut log_probs = segment.log_probs.iter().copied();
    let mut parts = Vec::new();
    let mut at = 0;
    for span in &segment.sampled {
        let (start, end) = (span.start as usize, (span.end as usize).min(ids.len()));
        parts.extend(part(&ids, at..start, tokenizer, None));
        parts.extend(part(&ids, start..end, tokenizer, Some(&mut log_probs)));
        at = end.max(at);
    }
    parts.extend(part(&ids, at..ids.len(), tokenizer, None));
    parts
}

/// One stretch; `None` where it is empty.
fn part(
    ids: &[u32],
    range: std::ops::Range<usize>,
    tokenizer: &Tokenizer,
    mut log_probs: Option<&mut dyn Iterator<Item = f32>>,
) -> Option<Part> {
    let start = range.start as u32;
    let ids = ids.get(range).filter(|ids| !ids.is_empty())?;
    let sampled = log_probs.is_some();
    let tokens = ids.iter().map(|&id| {
        let log_prob = log_probs.as_mut().and_then(Iterator::next);
        // As the mask reads it: what rounding put above 0 counts as 0.
        let q = log_prob.map(|log_prob| math::exp(log_prob.min(0.0)));
        SpelledToken { id, text: tokenizer.decode(&[id]), log_prob, q }
    });
    Some(Part { sampled, start, tokens: tokens.collect(), text: tokenizer.decode(ids) })
}
