//! One thing in a run, for people and for programs.

mod event;
mod outline;
mod step;
mod task;
mod trajectory;
mod update;

use std::path::Path;

use serde::Serialize;
use tadpole_kernel::id::{Sequence, StableId, Step};
use tadpole_systems::analysis::{Curriculum, StoryError, TaskStory, TrajectoryStory, UpdateStory};

use super::existing::Existing;
use super::failures;
use crate::engine::{Shown, Subject};
use crate::failure::Failure;

/// One thing in a run.
pub(super) fn show(directory: &Path, subject: &Subject) -> Result<Shown, Failure> {
    let run = Existing::open(directory, None)?;
    let told = |error: StoryError| story_failure(directory, &error);
    match *subject {
        Subject::Step(step) => {
            let refused = |error| failures::run(directory, &error);
            let group = run.reader.step(Step(step)).map_err(refused)?;
            let group = group.ok_or_else(|| absent(&run, &format!("step {step}")))?;
            step::shown(&group)
                .map_err(|error| Failure::failed(failures::reasons(&error)).at(directory.display()))
        }
        Subject::Event(sequence) => {
            let found =
                run.reader.event(Sequence(sequence)).map_err(|error| failures::run(directory, &error))?;
            let found = found.ok_or_else(|| absent(&run, &format!("event {sequence}")))?;
            Ok(event::shown(sequence, &found.0, &found.1))
        }
        Subject::Task(id) => {
            let story = TaskStory::read(&run.reader, StableId(id)).map_err(told)?;
            let story = story.ok_or_else(|| absent(&run, &format!("task or candidate {id}")))?;
            shown(task::text(&story), &story)
        }
        Subject::Trajectory(id) => {
            let tokenizer = run.tokenizer()?;
            let story = TrajectoryStory::read(&run.reader, &tokenizer, StableId(id)).map_err(told)?;
            let story = story.ok_or_else(|| absent(&run, &format!("trajectory {id}")))?;
            shown(trajectory::text(&story), &story)
        }
        Subject::Update { iteration, update, tokens } => {
            let assembly = run.assembled()?;
            let story = UpdateStory::read(&run.reader, &run.scenario, &assembly, (iteration, update));
            let story = story.map_err(told)?;
            let story =
                story.ok_or_else(|| absent(&run, &format!("update {update} of iteration {iteration}")))?;
            shown(update::text(&story, &run.scenario, tokens), &story)
        }
        Subject::Curriculum => {
            let mut curriculum = Curriculum::default();
            let refused = |error| failures::run(directory, &error);
            for entry in run.reader.events().map_err(refused)? {
                curriculum.add(&entry.map_err(refused)?.2);
            }
            shown(curriculum.to_string(), &curriculum.iterations)
        }
    }
}

fn shown(text: String, value: &impl Serialize) -> Result<Shown, Failure> {
    let json = serde_json::to_value(value)
        .map_err(|error| Failure::failed(format!("cannot write the result as JSON: {error}")))?;
    Ok(Shown { text, json })
}

fn absent(run: &Existing<'_>, what: &str) -> Failure {
    Failure::usage(format!("there is no {what} in this run"))
        .at(run.directory.display())
        .help("`tadpole show RUN` says how many steps it has; ids stand in `tadpole show RUN step N`")
}

/// A story that cannot be told.
pub(super) fn story_failure(directory: &Path, error: &StoryError) -> Failure {
    match error {
        StoryError::Run(error) => failures::run(directory, error),
        StoryError::Replay(error) => failures::replay(directory, error),
        StoryError::Blob(_) | StoryError::Tree(_) | StoryError::Compute(_) => {
            Failure::failed(failures::reasons(error)).at(directory.display())
        }
    }
}
