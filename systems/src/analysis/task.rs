//! What a log says about one task or candidate.

use std::collections::BTreeMap;

use serde::Serialize;
use tadpole_kernel::event::{
    CandidateGeneratedV1, Event, Exit, Facts, Origin, Purpose, Refinement, TaskAdmittedV1, TaskContent,
    TrajectoryFinishedV1,
};
use tadpole_kernel::id::{Digest, Iteration, Member, Sequence, StableId, Step, Version, Visit};
use tadpole_kernel::run::RunReader;
use tadpole_scenarios::repository::{Entry, Tree};

use super::StoryError;
use super::difference::unified;
use super::summary::rejection_name;

/// A task or candidate, from its generation to its last trajectory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskStory {
    /// As a candidate; `None` for a held-out task.
    pub candidate: Option<StableId>,
    /// As a task; `None` where it was not admitted.
    pub task: Option<StableId>,
    /// The held-out set it belongs to.
    pub set: Option<String>,
    /// The iteration it was made for.
    pub iteration: Iteration,
    /// The step that made it.
    pub step: Step,
    /// Content digest.
    pub digest: Digest,
    /// Where it lies in the generator's space.
    pub origin: Origin,
    /// The problem statement.
    pub statement: String,
    /// The repository, by path.
    pub files: BTreeMap<String, String>,
    /// What the gold patch changes, as a unified diff.
    pub gold: String,
    /// The hidden tests, by path.
    pub hidden: BTreeMap<String, String>,
    /// F2P; empty before validation.
    pub fail_to_pass: Vec<String>,
    /// P2P.
    pub pass_to_pass: Vec<String>,
    /// What it was refined from.
    pub refined: Option<Refinement>,
    /// What it was refined to.
    pub successors: Vec<StableId>,
    /// Every look at it.
    pub looks: Vec<Look>,
    /// How it left the funnel: `admitted`, `filled`, or the reason for its rejection.
    pub outcome: Option<String>,
    /// Every trajectory played on it, calibration included.
    pub trajectories: Vec<Episode>,
}

/// One look at a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Look {
    /// Which, from 0.
    pub look: Visit,
    /// The step.
    pub step: Step,
    /// Trajectories that passed.
    pub passed: u32,
    /// Trajectories.
    pub sampled: u32,
}

/// One trajectory, in a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Episode {
    /// Its id.
    pub trajectory: StableId,
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
    /// Sampled tokens.
    pub sampled: u32,
}

/// The content of a task or candidate, with its trees decoded.
#[derive(Clone, Debug)]
pub(super) struct Contents {
    pub(super) snapshot: Tree,
    gold: Tree,
    hidden: Tree,
}

impl TaskStory {
    /// Collects the story of the task or candidate `id`; `None` where there is none.
    pub fn read(run: &RunReader, id: StableId) -> Result<Option<Self>, StoryError> {
        let Some((mut story, _)) = Self::found(run, id)? else { return Ok(None) };
        for entry in run.events()? {
            let (commit, _, event) = entry?;
            story.take(commit.step, &event);
        }
        Ok(Some(story))
    }

    /// The beginning of the story of `id`, with its content.
    pub(super) fn found(run: &RunReader, id: StableId) -> Result<Option<(Self, Contents)>, StoryError> {
        let mut candidates: BTreeMap<StableId, (Step, Sequence)> = BTreeMap::new();
        for entry in run.events()? {
            let (commit, sequence, event) = entry?;
            match event {
                Event::CandidateGenerated(made) if made.candidate == id => {
                    return Self::of_candidate(run, commit.step, made).map(Some);
                }
                Event::CandidateGenerated(made) => {
                    candidates.insert(made.candidate, (commit.step, sequence));
                }
                Event::TaskAdmitted(TaskAdmittedV1 { task, candidate, .. }) if task == id => {
                    let Some(&(step, sequence)) = candidates.get(&candidate) else { return Ok(None) };
                    let Some((_, Event::CandidateGenerated(made))) = run.event(sequence)? else {
                        return Ok(None);
                    };
                    return Self::of_candidate(run, step, made).map(Some);
                }
                Event::TaskHeldOut(held) if held.task == id => {
                    let (mut story, contents) = Self::begin(run, commit.step, Iteration(0), held.content)?;
                    (story.task, story.set) = (Some(id), Some(held.set));
                    (story.fail_to_pass, story.pass_to_pass) = (held.fail_to_pass, held.pass_to_pass);
                    return Ok(Some((story, contents)));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    fn of_candidate(
        run: &RunReader,
        step: Step,
        made: CandidateGeneratedV1,
    ) -> Result<(Self, Contents), StoryError> {
        let (mut story, contents) = Self::begin(run, step, made.iteration, made.content)?;
        story.candidate = Some(made.candidate);
        story.refined = made.refined;
        Ok((story, contents))
    }

    fn begin(
        run: &RunReader,
        step: Step,
        iteration: Iteration,
        content: TaskContent,
    ) -> Result<(Self, Contents), StoryError> {
        let blobs = run.blobs();
        let tree = |bulk| -> Result<Tree, StoryError> {
            Tree::from_canonical(&blobs.bulk(bulk)?).map_err(|error| StoryError::Tree(error.to_string()))
        };
        let contents = Contents {
            snapshot: tree(&content.snapshot)?,
            gold: tree(&content.gold)?,
            hidden: tree(&content.tests)?,
        };
        let story = Self {
            candidate: None,
            task: None,
            set: None,
            iteration,
            step,
            digest: content.digest,
            origin: content.origin,
            statement: content.statement,
            files: texts(&contents.snapshot),
            gold: unified(&contents.snapshot, &contents.gold),
            hidden: texts(&contents.hidden),
            fail_to_pass: Vec::new(),
            pass_to_pass: Vec::new(),
            refined: None,
            successors: Vec::new(),
            looks: Vec::new(),
            outcome: None,
            trajectories: Vec::new(),
        };
        Ok((story, contents))
    }

    /// Takes in an event that may be about it.
    fn take(&mut self, step: Step, event: &Event) {
        let own = |id: StableId, known: Option<StableId>| known == Some(id);
        match event {
            Event::CandidateGenerated(made) => {
                let parent = made.refined.as_ref().map(|refined| refined.parent);
                if parent.is_some() && parent == self.candidate {
                    self.successors.push(made.candidate);
                }
            }
            Event::CandidateValidated(validated) if own(validated.candidate, self.candidate) => {
                self.fail_to_pass.clone_from(&validated.fail_to_pass);
                self.pass_to_pass.clone_from(&validated.pass_to_pass);
            }
            Event::CandidateCalibrated(look) if own(look.candidate, self.candidate) => {
                self.looks.push(Look { look: look.look, step, passed: look.passed, sampled: look.sampled });
            }
            Event::CandidateRejected(rejected) if own(rejected.candidate, self.candidate) => {
                self.outcome = Some(rejection_name(rejected.reason).to_owned());
            }
            Event::TaskAdmitted(admitted) if own(admitted.candidate, self.candidate) => {
                self.task = Some(admitted.task);
                self.outcome = Some(if admitted.in_band { "admitted" } else { "filled" }.to_owned());
            }
            Event::TrajectoryFinished(played)
                if own(played.subject, self.candidate) || own(played.subject, self.task) =>
            {
                self.trajectories.push(Episode::of(played));
            }
            _ => {}
        }
    }
}

impl Episode {
    /// A trajectory, in a line.
    fn of(played: &TrajectoryFinishedV1) -> Self {
        Self {
            trajectory: played.trajectory,
            purpose: played.purpose,
            iteration: played.iteration,
            version: played.version,
            visit: played.visit,
            member: played.member,
            exit: played.exit,
            facts: played.facts,
            raw_reward: played.raw_reward,
            reward: played.reward,
            sampled: played.segments.iter().map(|segment| segment.log_probs.len() as u32).sum(),
        }
    }
}

/// The files of a tree as text.
fn texts(tree: &Tree) -> BTreeMap<String, String> {
    let text = |entry: &Entry| match entry {
        Entry::File { bytes, .. } => String::from_utf8_lossy(bytes).into_owned(),
        Entry::Link { target } => format!("-> {target}"),
        Entry::Absent => String::new(),
    };
    tree.iter().map(|(path, entry)| (path.to_owned(), text(entry))).collect()
}
