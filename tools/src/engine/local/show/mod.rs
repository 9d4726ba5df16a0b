//! One thing in a run, for people and for programs.

mod event;
mod mention;
mod outline;
mod policy;
mod step;
mod task;
mod tokens;
mod trajectory;
mod update;
mod world;

use std::path::Path;

use serde::Serialize;
use tadpole_kernel::id::{Sequence, StableId, Step};
use tadpole_systems::analysis::{
    Curriculum, Lesson, PolicyStory, StoryError, TaskStory, TrajectoryStory, UpdateStory, updates_on,
};

pub(super) use event::outlined;
pub(super) use mention::{about, ids, subject};
pub(super) use task::{grade, purpose};
pub(super) use tokens::fate;
pub(super) use trajectory::{Told, exit, heading, tables, taught};

use super::existing::Existing;
use super::failures;
use super::seek::Seeker;
use crate::arguments::Speed;
use crate::engine::{Shown, Subject};
use crate::failure::Failure;

/// One thing in the run in `directory`.
pub(super) fn show(directory: &Path, subject: &Subject) -> Result<Shown, Failure> {
    of(&Existing::open(directory, &Speed::default())?, subject)
}

/// One thing in a run.
pub(super) fn of(run: &Existing, subject: &Subject) -> Result<Shown, Failure> {
    let refused = |error| failures::run(&run.directory, &error);
    let told = |error: StoryError| story_failure(&run.directory, &error);
    match *subject {
        Subject::Step(step) => {
            let group = run.reader.step(Step(step)).map_err(refused)?;
            let group = group.ok_or_else(|| absent(run, &format!("step {step}")))?;
            step::shown(&group)
                .map_err(|error| Failure::failed(failures::reasons(&error)).at(run.directory.display()))
        }
        Subject::Event(sequence) => {
            let found = run.reader.event(Sequence(sequence)).map_err(refused)?;
            let found = found.ok_or_else(|| absent(run, &format!("event {sequence}")))?;
            Ok(event::shown(sequence, &found.0, &found.1))
        }
        Subject::World(step) => {
            let step = match step {
                Some(step) => Step(step),
                None => run.reader.totals().map_err(refused)?.last.step,
            };
            let mut seeker = Seeker::new(run.directory.clone());
            let world = seeker.world_at(step).map_err(|error| failures::replay(&run.directory, &error))?;
            Ok(world::shown(step, world))
        }
        Subject::Task(id) => {
            let story = TaskStory::read(&run.reader, StableId(id)).map_err(told)?;
            let story = story.ok_or_else(|| absent(run, &format!("task or candidate {id}")))?;
            shown(task::text(&story), &story)
        }
        Subject::Policy(id) => {
            let story = PolicyStory::read(&run.reader, StableId(id)).map_err(told)?;
            let story = story.ok_or_else(|| absent(run, &format!("policy {id}")))?;
            shown(policy::text(&story), &story)
        }
        Subject::Trajectory { id, tokens } => {
            let told = trajectory(run, id)?;
            shown(trajectory::text(&told, tokens), &told)
        }
        Subject::Update { iteration, update, tokens } => {
            let which = (iteration, update);
            let story = UpdateStory::read(&run.reader, &run.scenario, run.assembly()?, which);
            let story = story.map_err(told)?;
            let story =
                story.ok_or_else(|| absent(run, &format!("update {update} of iteration {iteration}")))?;
            shown(update::text(&story, tokens), &story)
        }
        Subject::Curriculum => {
            let mut curriculum = Curriculum::default();
            for entry in run.reader.events().map_err(refused)? {
                curriculum.add(&entry.map_err(refused)?.2);
            }
            shown(curriculum.to_string(), &curriculum.iterations)
        }
    }
}

/// A trajectory with what it taught.
pub(super) fn trajectory(run: &Existing, id: u64) -> Result<Told, Failure> {
    let told = |error: StoryError| story_failure(&run.directory, &error);
    let tokenizer = run.tokenizer()?;
    let story = TrajectoryStory::read(&run.reader, &tokenizer, StableId(id)).map_err(told)?;
    let story = story.ok_or_else(|| absent(run, &format!("trajectory {id}")))?;
    let mut lessons = Vec::new();
    for update in updates_on(&run.reader, StableId(id)).map_err(told)? {
        let lesson = Lesson::read(&run.reader, &run.scenario, run.assembly()?, &update, StableId(id));
        lessons.extend(lesson.map_err(told)?);
    }
    Ok(Told { story, lessons })
}

fn shown(text: String, value: &impl Serialize) -> Result<Shown, Failure> {
    let json = serde_json::to_value(value)
        .map_err(|error| Failure::failed(format!("cannot write the result as JSON: {error}")))?;
    Ok(Shown { text, json })
}

fn absent(run: &Existing, what: &str) -> Failure {
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

#[cfg(test)]
mod tests;
