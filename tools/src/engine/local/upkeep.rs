//! Checks, salvages, collects.

use std::path::Path;

use tadpole_kernel::blob::Moments;
use tadpole_kernel::decide::Keep;
use tadpole_kernel::id::Digest;
use tadpole_kernel::run::RunReader;
use tadpole_kernel::upkeep::{self, Collected, Collection, GcError, Problem, SalvageError, Salvaged};
use tadpole_scenarios::schema::{self, Scenario};
use tadpole_systems::assembly;

use super::existing::Existing;
use super::failures;
use crate::engine::{CheckReport, Complaint, GcReport, SalvageReport};
use crate::failure::Failure;

/// Whether the run in `directory` is whole.
pub(super) fn check(directory: &Path) -> CheckReport {
    let scenario = scenario(directory);
    let upkeep::CheckReport { steps, events, last, over, live, blobs, answers, problems } =
        upkeep::check(directory, moments(scenario.as_ref().ok()));
    let mut problems: Vec<Complaint> = problems.iter().map(|problem| complaint(problem, directory)).collect();
    match scenario {
        Ok(scenario) => problems.extend(changed(directory, &scenario)),
        // What cannot be read at all is among the problems already.
        Err(Some(refused)) => problems.push(scenario_complaint(refused)),
        Err(None) => {}
    }
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

/// The scenario of a run; what is wrong with it where it can be read.
fn scenario(directory: &Path) -> Result<Scenario, Option<String>> {
    let text = std::fs::read(directory.join("scenario.toml")).map_err(|_| None)?;
    let text = String::from_utf8(text).map_err(|error| Some(error.to_string()))?;
    Scenario::parse(&text, "scenario.toml").map_err(|error| Some(error.to_string()))
}

/// Without a scenario, everything that may be needed is.
fn moments(scenario: Option<&Scenario>) -> Moments {
    match scenario {
        Some(scenario) if scenario.update.reset_moments => Moments::Reset,
        _ => Moments::Carried,
    }
}

/// The scenario beside the log must be the one that the log begins with. A log that cannot be read is a problem of its own.
fn changed(directory: &Path, scenario: &Scenario) -> Option<Complaint> {
    let recorded = RunReader::open(directory).ok()?.header().scenario;
    let given = assembly::header(scenario).scenario;
    let what = format!("the run was started with the scenario of digest {recorded}, not {given}");
    (recorded != given).then(|| scenario_complaint(what))
}

fn scenario_complaint(what: String) -> Complaint {
    Complaint {
        file: "scenario.toml".to_owned(),
        byte: None,
        what,
        help: "restore scenario.toml as the run had it; the log holds only its digest".to_owned(),
    }
}

fn complaint(problem: &Problem, directory: &Path) -> Complaint {
    let (file, byte) = problem.place();
    let run = directory.display();
    let salvage = format!(
        "`tadpole salvage {run} --out NEW` saves what is sound, and resuming NEW makes the rest again"
    );
    let help = match problem {
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

/// Saves what is sound.
pub(super) fn salvage(directory: &Path, out: &Path) -> Result<SalvageReport, Failure> {
    let moments = moments(scenario(directory).as_ref().ok());
    let saved = upkeep::salvage(directory, out, moments).map_err(|error| match &error {
        SalvageError::Run(error) => failures::run(directory, error),
        SalvageError::Nothing(_) => Failure::failed(failures::reasons(&error))
            .at(directory.display())
            .help("the run has to be made again from its scenario; the same scenario makes the same run"),
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
        lost: cut.iter().map(|problem| failures::reasons(problem)).collect(),
        blobs,
        answers,
    })
}

/// Removes, or finds, what nothing needs.
pub(super) fn gc(directory: &Path, collection: Collection) -> Result<GcReport, Failure> {
    let run = Existing::open(directory, &crate::arguments::Speed::default())?;
    let keep = match run.scenario.log.keep {
        schema::Keep::Iterations => Keep::Iterations,
        schema::Keep::All => Keep::All,
    };
    let collected = upkeep::gc(directory, keep, collection).map_err(|error| match &error {
        GcError::Run(error) => failures::run(directory, error),
        GcError::Unsound(_) => Failure::failed(failures::reasons(&error))
            .at(directory.display())
            .help(format!("`tadpole check {}` says what is wrong and what to do", directory.display())),
        GcError::Blob(_) => Failure::failed(failures::reasons(&error)).at(directory.display()),
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
