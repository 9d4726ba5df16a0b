//! Starts a run or goes on with one, and stays with it to its end.

use std::path::Path;
use std::time::{Duration, Instant};

use tadpole_kernel::driver::{Committed, Kernel};
use tadpole_kernel::id::{Digest, Step};
use tadpole_kernel::keyframe::Spacing;
use tadpole_kernel::run::{RunError, RunReader, Timing};
use tadpole_kernel::world::WorldView;
use tadpole_scenarios::schema::Scenario;
use tadpole_systems::analysis::RunSummary;
use tadpole_systems::meter::{Meter, process_cpu};

use super::existing::{self, Existing};
use super::teller::Teller;
use super::watch::Watch;
use super::{execution, failures};
use crate::arguments::Speed;
use crate::engine::RunRequest;
use crate::failure::Failure;
use crate::progress::{Notice, Observer};

/// Starts a run.
pub(super) fn run(request: &RunRequest, observer: &dyn Observer) -> Result<RunSummary, Failure> {
    let RunRequest { scenario, base, directory } = request;
    let assembly = execution::assembled(scenario, base.as_deref().unwrap_or(Path::new(".")))?;
    let meter = assembly.meter.clone();
    let made = Kernel::create(directory, &scenario.to_toml(), assembly.header, assembly.systems);
    let mut kernel = made.map_err(|error| failures::kernel(directory, &error))?;
    kernel.keep_keyframes(Spacing::default());
    observer.notice(&started(&kernel, scenario, directory));
    Drive { directory, observer, teller: Teller::new(scenario), clock: StepClock::new(&meter) }
        .finish(&mut kernel, &meter)?;
    existing::summary(directory)
}

/// Goes on with a run.
pub(super) fn resume(
    directory: &Path,
    speed: &Speed,
    observer: &dyn Observer,
) -> Result<RunSummary, Failure> {
    let run = Existing::open(directory, speed)?;
    let assembly = run.assembled()?;
    let (meter, base) = (assembly.meter.clone(), assembly.base);
    let opened = Kernel::resume(directory, assembly.header, assembly.systems);
    let mut kernel = opened.map_err(|error| failures::kernel(directory, &error))?;
    kernel.keep_keyframes(Spacing::default());
    began_with(&kernel.view(), base).map_err(|failure| failure.at(directory.display()))?;
    observer.notice(&started(&kernel, &run.scenario, directory));
    if let Some(note) = kernel.recovered() {
        observer.notice(&Notice::Recovered { note: note.to_owned() });
    }
    if kernel.next_system().is_none() {
        observer.notice(&Notice::AlreadyOver);
        return existing::summary(directory);
    }
    let mut teller = Teller::new(&run.scenario);
    tell_past(&run.reader, kernel.next_step(), &mut teller, observer)
        .map_err(|error| failures::run(directory, &error))?;
    observer.notice(&Notice::Resumed { step: kernel.next_step().0 });
    Drive { directory, observer, teller, clock: StepClock::new(&meter) }.finish(&mut kernel, &meter)?;
    existing::summary(directory)
}

/// A run goes on with the base policy that it began with: the tokenizer is not in the log, and ships with it.
fn began_with(view: &WorldView<'_>, base: Digest) -> Result<(), Failure> {
    match view.policies().next() {
        Some((_, first)) if first.weights != base => Err(Failure::failed(format!(
            "the run began with base policy {}, this build or scenario has {base}",
            first.weights
        ))
        .help("go on with the build that made the run, or with the files that policy.path named")),
        _ => Ok(()),
    }
}

fn started(kernel: &Kernel, scenario: &Scenario, directory: &Path) -> Notice {
    Notice::Started {
        title: existing::title(scenario),
        run_id: kernel.lineage().run().to_hex(),
        directory: directory.display().to_string(),
        iterations: scenario.iterations,
    }
}

/// Tells what was committed before `next`, as a thing of the past.
fn tell_past(
    reader: &RunReader,
    next: Step,
    teller: &mut Teller<'_>,
    observer: &dyn Observer,
) -> Result<(), RunError> {
    for entry in reader.events()? {
        let (commit, _, event) = entry?;
        if commit.step >= next {
            break;
        }
        for notice in teller.events(std::slice::from_ref(&event)) {
            observer.notice(&Notice::Past(Box::new(notice)));
        }
    }
    Ok(())
}

struct Drive<'a> {
    directory: &'a Path,
    observer: &'a dyn Observer,
    teller: Teller<'a>,
    clock: StepClock<'a>,
}

impl Drive<'_> {
    fn finish(mut self, kernel: &mut Kernel, meter: &Meter) -> Result<(), Failure> {
        Watch::over(meter, self.observer, |watch| {
            while self.step(kernel, watch)? {}
            Ok::<(), Failure>(())
        })?;
        self.observer.notice(&Notice::Finished);
        Ok(())
    }

    fn step(&mut self, kernel: &mut Kernel, watch: &Watch<'_>) -> Result<bool, Failure> {
        if let Some(notice) = self.teller.phase(&kernel.view()) {
            self.observer.notice(&notice);
        }
        let refused = |error| failures::kernel(self.directory, &error);
        let Some(Committed { events, commit, .. }) = kernel.step().map_err(refused)? else {
            return Ok(false);
        };
        kernel.note_timing(&self.clock.lap(commit.step)).map_err(refused)?;
        watch.tell();
        for notice in self.teller.events(&events) {
            self.observer.notice(&notice);
        }
        Ok(true)
    }
}

/// What steps cost; for the sidecar that nothing hashes.
struct StepClock<'a> {
    meter: &'a Meter,
    wall: Instant,
    cpu: Duration,
}

impl<'a> StepClock<'a> {
    /// Processor time from the start of the process on goes to the first step.
    fn new(meter: &'a Meter) -> Self {
        Self { meter, wall: now(), cpu: Duration::ZERO }
    }

    /// What the step that ends now cost.
    fn lap(&mut self, step: Step) -> Timing {
        let (wall, cpu) = (now(), process_cpu() + self.meter.read().worked);
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let timing = Timing {
            step: step.0,
            wall_us: micros(wall.saturating_duration_since(self.wall)),
            cpu_us: micros(cpu.saturating_sub(self.cpu)),
            peak_bytes: self.meter.memory_peak(),
        };
        (self.wall, self.cpu) = (wall, cpu);
        timing
    }
}

#[expect(clippy::disallowed_methods, reason = "the wall-clock sidecar, which nothing hashes")]
fn now() -> Instant {
    Instant::now()
}
