//! What the systems and the kernel refuse, as people are told.

use std::error::Error;
use std::io;
use std::path::Path;

use tadpole_kernel::driver::KernelError;
use tadpole_kernel::replay::ReplayError;
use tadpole_kernel::run::RunError;
use tadpole_kernel::verify::VerifyError;
use tadpole_systems::assembly::AssemblyError;
use tadpole_systems::generator::ProcessError;

use crate::failure::Failure;
use crate::scenario::existing_run;

/// An error with everything behind it, on one line.
pub(super) fn reasons(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

/// What to do where nothing is left of a log.
pub(super) const MAKE_AGAIN: &str =
    "the run has to be made again from its scenario; the same scenario makes the same run";

/// What lies behind an error, it itself first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| (*error).source())
}

/// Whether a medium is full.
fn is_full(error: &(dyn Error + 'static)) -> bool {
    causes(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::StorageFull)
}

/// Whether a program that is to be asked is not there.
fn lacks_program(error: &(dyn Error + 'static)) -> bool {
    causes(error).filter_map(|cause| cause.downcast_ref::<ProcessError>()).any(
        |error| matches!(error, ProcessError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound),
    )
}

/// A scenario that cannot be run here.
pub(super) fn assembly(error: AssemblyError) -> Failure {
    let what = reasons(&error);
    let help = match error {
        AssemblyError::PolicyFile { .. } => {
            "policy.path is relative to the scenario file; for a run that exists, to the current directory"
        }
        AssemblyError::Arithmetic(_) => "`tadpole doctor` checks this machine",
        AssemblyError::NoCommand => {
            "name the program and its arguments, or leave generator.kind at \"mutation\""
        }
        AssemblyError::Context { .. } => "lower harness.context, or choose a policy with more positions",
        AssemblyError::Weights(_)
        | AssemblyError::Tokenizer(_)
        | AssemblyError::Vocabulary { .. }
        | AssemblyError::EndOfTurn(_) => {
            "choose a policy and a tokenizer that were made together (policy.source, policy.path)"
        }
    };
    Failure::failed(what).help(help)
}

/// A run directory that cannot be read.
pub(super) fn run(run: &Path, error: &RunError) -> Failure {
    let what = reasons(error);
    match error {
        RunError::Exists(_) => {
            Failure::usage("the directory exists, and nothing is ever overwritten").at(run.display())
        }
        RunError::NotARun(_) if existing_run(run).is_ok() => {
            Failure::usage("its log holds no committed step").at(run.display()).help(MAKE_AGAIN)
        }
        RunError::NotARun(_) | RunError::NotStarted => Failure::usage(what)
            .at(run.display())
            .help("give a directory that `tadpole run` made; it holds scenario.toml and log/"),
        RunError::ScenarioChanged { .. } => Failure::failed(what).at(run.join("scenario.toml").display()).help(
            "a run goes on with the scenario and the arithmetic it was started with: restore scenario.toml, or use the build that made the run",
        ),
        RunError::Locked { .. } => Failure::failed(what).help("reading needs no lock: `tadpole show` works meanwhile"),
        RunError::Log(_) | RunError::Event { .. } => Failure::failed(what)
            .at(run.display())
            .help(format!(
                "the log was changed after it was written, or its medium is failing: `tadpole check {0}` says how much is sound, `tadpole salvage {0} --out NEW` saves it",
                run.display()
            )),
        RunError::Io { .. } if is_full(error) => Failure::failed(what).help("free some space first"),
        RunError::Io { .. } => Failure::failed(what).help("check the path, its permissions and the free space"),
    }
}

/// A log that does not replay.
pub(super) fn replay(at: &Path, error: &ReplayError) -> Failure {
    match error {
        ReplayError::Run(error) => run(at, error),
        ReplayError::PastEnd { steps, .. } => Failure::usage(reasons(error))
            .at(at.display())
            .help(format!("steps count from 0 to {}", steps.saturating_sub(1))),
        ReplayError::Keyframe { .. } => Failure::failed(reasons(error))
            .at(at.display())
            .help("check the permissions and the free space; keyframes may be deleted at any time"),
        ReplayError::World { .. } => Failure::failed(reasons(error)).at(at.display()).help(
            "the log was changed, or this build applies events otherwise than the one that made the run",
        ),
    }
}

/// A run that cannot go on.
pub(super) fn kernel(at: &Path, error: &KernelError) -> Failure {
    match error {
        KernelError::Run(error) => run(at, error),
        KernelError::Replay(error) => replay(at, error),
        _ => {
            let resume = format!("`tadpole resume {}`", at.display());
            let help = if is_full(error) {
                format!("free some space first; what is committed is whole: {resume} goes on from there")
            } else if lacks_program(error) {
                format!(
                    "what is committed is whole: start {resume} in the scenario's directory, or put the program on the search path"
                )
            } else {
                format!("what is committed is whole: {resume} goes on from there")
            };
            Failure::failed(reasons(error)).at(at.display()).help(help)
        }
    }
}

/// A run that cannot be verified at all.
pub(super) fn verify(at: &Path, error: &VerifyError) -> Failure {
    match error {
        VerifyError::Run(error) => run(at, error),
        VerifyError::Blob(_) => Failure::failed(reasons(error)).at(at.display()),
    }
}
