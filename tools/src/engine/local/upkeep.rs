//! Checks, salvages, collects.

use std::io;
use std::path::Path;

use tadpole_kernel::blob::Moments;
use tadpole_kernel::decide::Keep;
use tadpole_kernel::id::Digest;
use tadpole_kernel::log::LogError;
use tadpole_kernel::replay::ReplayError;
use tadpole_kernel::run::{RunError, RunReader};
use tadpole_kernel::upkeep::{self, Collected, Collection, GcError, Problem, SalvageError, Salvaged};
use tadpole_scenarios::schema::{self, Scenario};
use tadpole_systems::assembly;

use super::existing::{Existing, unchanged};
use super::failures;
use crate::engine::{CheckReport, Complaint, GcReport, SalvageReport};
use crate::failure::Failure;

/// The scenario of a run, within its directory.
const SCENARIO: &str = "scenario.toml";

/// Whether the run in `directory` is whole.
pub(super) fn check(directory: &Path) -> CheckReport {
    let scenario = scenario(directory, SCENARIO);
    let upkeep::CheckReport { steps, events, last, over, live, blobs, answers, problems } =
        upkeep::check(directory, moments(scenario.as_ref().ok()));
    let mut problems: Vec<Complaint> = problems.iter().map(|problem| complaint(problem, directory)).collect();
    problems.extend(changed(directory));
    CheckReport {
        whole: problems.is_empty(),
        steps,
        events,
        chain: last.map(|last| last.chain.to_hex()),
        finished: over,
        live,
        blobs,
        answers,
        problems,
    }
}

/// A scenario in a run's directory; what is wrong with it where it can be read.
fn scenario(directory: &Path, file: &str) -> Result<Scenario, Option<String>> {
    let text = std::fs::read(directory.join(file)).map_err(|_| None)?;
    let text = String::from_utf8(text).map_err(|error| Some(error.to_string()))?;
    Scenario::parse(&text, file).map_err(|error| Some(error.to_string()))
}

/// What a run must still have. Without a scenario: all that may be needed.
fn moments(scenario: Option<&Scenario>) -> Moments {
    match scenario {
        Some(scenario) if scenario.log.keep == schema::Keep::All => Moments::Kept,
        Some(scenario) if scenario.update.reset_moments => Moments::Reset,
        _ => Moments::Carried,
    }
}

/// The scenarios beside a log that are not those that it names: its own, and those of the runs that it descends from. One
/// that cannot be read at all, and a log that cannot be, is a problem that the kernel tells of.
fn changed(directory: &Path) -> Vec<Complaint> {
    let recorded: Vec<(String, Option<Digest>)> = match RunReader::open(directory) {
        Ok(reader) => {
            let file =
                |run| if run == reader.run() { SCENARIO.to_owned() } else { format!("lineage/{run}.toml") };
            reader.lineage().headers().map(|(run, header)| (file(run), Some(header.scenario))).collect()
        }
        Err(_) => vec![(SCENARIO.to_owned(), None)],
    };
    let complaint = |(file, recorded): (String, Option<Digest>)| {
        let what = match scenario(directory, &file) {
            Ok(scenario) => {
                let given = assembly::header(&scenario).scenario;
                let recorded = recorded.filter(|recorded| *recorded != given)?;
                format!("the run was started with the scenario of digest {recorded}, not {given}")
            }
            Err(refused) => refused?,
        };
        let help = format!("restore {file} as the run had it; the log holds only its digest");
        Some(Complaint { file, byte: None, what, help })
    };
    recorded.into_iter().filter_map(complaint).collect()
}

fn complaint(problem: &Problem, directory: &Path) -> Complaint {
    let (file, byte) = problem.place();
    let run = directory.display();
    let salvage = format!(
        "`tadpole salvage {run} --out NEW` saves what is sound, and resuming NEW makes the rest again"
    );
    let help = match problem {
        Problem::Log(ReplayError::Run(RunError::Log(LogError::Empty))) => failures::MAKE_AGAIN.to_owned(),
        Problem::Log(_) => salvage,
        Problem::Torn(_) => format!(
            "`tadpole resume {run}` cuts it off, notes that, and goes on; a step that was whole before is decided again, to the same bytes"
        ),
        Problem::MissingBlob { .. } | Problem::CorruptBlob { .. } => {
            format!("restore the file from a copy of the run, or: {salvage}")
        }
        Problem::MissingAnswer { .. } | Problem::OtherAnswer { .. } | Problem::CorruptAnswer { .. } => {
            format!(
                "restore the file from a copy of the run: an answer is never asked for again; or: {salvage}"
            )
        }
        Problem::Unreadable { .. } => {
            "check that the file is there, its permissions and its medium".to_owned()
        }
    };
    Complaint { file, byte, what: failures::reasons(problem), help }
}

/// Saves what is sound. With a scenario that is not the run's own nothing could go on from it, so that comes first.
pub(super) fn salvage(directory: &Path, out: &Path) -> Result<SalvageReport, Failure> {
    if let Some(Complaint { file, what, help, .. }) = changed(directory).into_iter().next() {
        return Err(Failure::failed(what).at(directory.join(file).display()).help(help));
    }
    let moments = moments(scenario(directory, SCENARIO).as_ref().ok());
    let saved = upkeep::salvage(directory, out, moments).map_err(|error| match &error {
        SalvageError::Run(RunError::Io { path, error })
            if error.kind() == io::ErrorKind::NotFound && path.extension().is_some_and(|it| it == "toml") =>
        {
            Failure::failed(format!("{}: {error}", path.display()))
                .at(directory.display())
                .help(format!("restore {} as the run had it; the log holds only its digest", path.display()))
        }
        SalvageError::Run(error) => failures::run(directory, error),
        SalvageError::Nothing(_) => {
            Failure::failed(failures::reasons(&error)).at(directory.display()).help(failures::MAKE_AGAIN)
        }
        _ => Failure::failed(failures::reasons(&error))
            .at(directory.display())
            .help("copy the directory to a sound medium first, and salvage the copy"),
    })?;
    let Salvaged { last, last_seen, cut, blobs, answers } = saved;
    Ok(SalvageReport {
        directory: out.to_path_buf(),
        steps: last.step.0 + 1,
        chain: last.chain.to_hex(),
        lost_steps: last_seen.0 - last.step.0,
        // Of a damaged log it may be known only now what the scenario should have been.
        lost: cut
            .iter()
            .map(|problem| failures::reasons(problem))
            .chain(
                changed(out)
                    .into_iter()
                    .map(|Complaint { file, what, help, .. }| format!("{file}: {what}; {help}")),
            )
            .collect(),
        blobs,
        answers,
    })
}

/// Removes, or finds, what nothing needs.
pub(super) fn gc(directory: &Path, collection: Collection) -> Result<GcReport, Failure> {
    let run = Existing::open(directory, &crate::arguments::Speed::default())?;
    unchanged(&run.reader, &run.scenario)?;
    let keep = match run.scenario.log.keep {
        schema::Keep::Iterations => Keep::Iterations,
        schema::Keep::All => Keep::All,
    };
    let collected = upkeep::gc(directory, keep, collection).map_err(|error| match &error {
        GcError::Run(error) => failures::run(directory, error),
        GcError::Unsound(_) => Failure::failed(failures::reasons(&error))
            .at(directory.display())
            .help(format!("`tadpole check {}` says what is wrong and what to do", directory.display())),
        GcError::Blob(_) => Failure::failed(failures::reasons(&error)).at(directory.display()).help(
            "in blobs/ lie directories of two digits with files in them: check permissions, and move away what is anything else",
        ),
    })?;
    let Collected { unnamed, superseded, leftovers, bytes, kept } = collected;
    let names =
        |digests: std::collections::BTreeSet<Digest>| digests.into_iter().map(Digest::to_hex).collect();
    Ok(GcReport {
        removed: collection == Collection::Done,
        unnamed: names(unnamed),
        superseded: names(superseded),
        leftovers,
        bytes,
        kept,
    })
}
