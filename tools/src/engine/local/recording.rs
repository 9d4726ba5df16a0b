//! A run on disk, step by step.

use std::fs;
use std::ops::Range;
use std::path::Path;

use tadpole_kernel::event::{Event, IterationStartedV1};
use tadpole_kernel::id::Step;
use tadpole_kernel::log::Group;
use tadpole_systems::update::InspectedToken;

use super::existing::{self, Existing};
use super::seek::Seeker;
use super::show::Told;
use super::{failures, show, world};
use crate::arguments::Speed;
use crate::engine::{
    Episode, EventOutline, Kind, Outline, Piece, Recording, Sheet, Shown, Subject, TokenRow, TokenTable,
};
use crate::failure::Failure;

/// A run on disk, open for reading.
pub(super) struct Local {
    run: Existing,
    seeker: Seeker,
    /// Steps told of.
    told: u64,
    /// The iteration of the last of them.
    iteration: u32,
    /// Bytes of the log when it was read last.
    bytes: u64,
    /// The events of the step that was asked about last.
    events: Option<(u64, Vec<Event>)>,
}

impl Local {
    /// Opens a run.
    pub(super) fn open(directory: &Path) -> Result<Self, Failure> {
        let run = Existing::open(directory, &Speed::default())?;
        let seeker = Seeker::new(run.directory.clone());
        Ok(Self { run, seeker, told: 0, iteration: 0, bytes: 0, events: None })
    }

    fn outline(&mut self, group: &Group) -> Result<Outline, Failure> {
        let commit = *group.commit();
        let mut outlines = Vec::with_capacity(group.len());
        for (event, sequence) in self.decoded(group)?.iter().zip(commit.first.0..) {
            if let Event::IterationStarted(IterationStartedV1 { iteration, .. }) = event {
                self.iteration = iteration.0;
            }
            outlines.push(EventOutline {
                sequence,
                name: event.name(),
                about: show::about(event),
                ids: show::ids(event),
                subject: show::subject(event),
            });
        }
        Ok(Outline {
            step: commit.step.0,
            iteration: self.iteration,
            chain: commit.chain.to_hex(),
            world: commit.world.to_hex(),
            events: outlines,
        })
    }

    fn decoded(&self, group: &Group) -> Result<Vec<Event>, Failure> {
        group
            .events()
            .collect::<Result<_, _>>()
            .map_err(|error| Failure::failed(failures::reasons(&error)).at(self.run.directory.display()))
    }
}

impl Recording for Local {
    fn title(&self) -> String {
        existing::title(&self.run.scenario)
    }

    fn more(&mut self) -> Result<Vec<Outline>, Failure> {
        let bytes = log_bytes(&self.run.directory).unwrap_or(0);
        if bytes == self.bytes {
            return Ok(Vec::new());
        }
        let refused = |error| failures::run(&self.run.directory, &error);
        let mut more = Vec::new();
        for group in self.run.reader.groups().map_err(refused)? {
            let group = group.map_err(|error| failures::run(&self.run.directory, &error.into()))?;
            if group.commit().step.0 >= self.told {
                more.push(self.outline(&group)?);
            }
        }
        self.told += more.len() as u64;
        self.bytes = bytes;
        Ok(more)
    }

    fn fields(&mut self, step: u64, index: usize) -> Result<String, Failure> {
        let known = self.events.take().filter(|(of, _)| *of == step);
        let events = if let Some((_, events)) = known {
            events
        } else {
            let group = self.run.reader.step(Step(step));
            let group = group.map_err(|error| failures::run(&self.run.directory, &error))?;
            group.map(|group| self.decoded(&group)).transpose()?.unwrap_or_default()
        };
        let text = events.get(index).map(show::outlined).unwrap_or_default();
        self.events = Some((step, events));
        Ok(text)
    }

    fn world(&mut self, step: u64, kind: Kind, rows: Range<usize>) -> Result<Sheet, Failure> {
        let directory = &self.run.directory;
        let world = self.seeker.world_at(Step(step)).map_err(|error| failures::replay(directory, &error))?;
        Ok(world::sheet(world, kind, rows))
    }

    fn show(&mut self, subject: &Subject) -> Result<Shown, Failure> {
        show::of(&self.run, subject)
    }

    fn episode(&mut self, trajectory: u64) -> Result<Episode, Failure> {
        Ok(episode(&show::trajectory(&self.run, trajectory)?))
    }
}

/// Bytes of all segments; `None` where they cannot be listed.
fn log_bytes(directory: &Path) -> Option<u64> {
    let files = fs::read_dir(directory.join("log")).ok()?;
    files.map(|file| Some(file.ok()?.metadata().ok()?.len())).sum()
}

fn episode(told: &Told) -> Episode {
    let mut pieces = Vec::new();
    for (index, history) in told.story.segments.iter().enumerate() {
        if index > 0 {
            pieces.push(Piece { text: REWRITTEN.to_owned(), sampled: false });
        }
        let tokens = history.iter().flat_map(|part| part.tokens.iter().map(|token| (token, part.sampled)));
        pieces.extend(tokens.map(|(token, sampled)| Piece { text: token.text.clone(), sampled }));
    }
    let sampled: Vec<usize> = (0..pieces.len()).filter(|&at| pieces[at].sampled).collect();
    let lessons = show::tables(told).into_iter().map(|(title, tokens, advantage)| TokenTable {
        title,
        tokens: sampled.iter().zip(tokens).map(|(&piece, token)| row(piece, token, advantage)).collect(),
    });
    let lessons = lessons.collect();
    Episode { heading: format!("{}{}", show::heading(&told.story), show::taught(told)), pieces, lessons }
}

/// Stands between the histories of a trajectory.
const REWRITTEN: &str = "\n\n(the history was rewritten here)\n\n";

fn row(piece: usize, token: InspectedToken, advantage: Option<f32>) -> TokenRow {
    let fate = show::fate(&token);
    let InspectedToken { position, id: _, text, q, p, ratio, kept, dropped: _ } = token;
    TokenRow { piece, position, text, q, p, ratio, advantage, kept, fate }
}
