//! What the systems and the kernel refuse, as people are told.

use std::error::Error;
use std::path::Path;

use tadpole_kernel::driver::KernelError;
use tadpole_kernel::replay::ReplayError;
use tadpole_kernel::run::RunError;
use tadpole_kernel::verify::VerifyError;
use tadpole_systems::assembly::AssemblyError;

use crate::failure::Failure;

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
        RunError::Io { .. } => Failure::failed(what).help("check the path, its permissions and the free space"),
    }
}

/// A log that does not replay.
pub(super) fn replay(at: &Path, error: &ReplayError) -> Failure {
    match error {
        ReplayError::Run(error) => run(at, error),
        ReplayError::PastEnd { .. } => Failure::usage(reasons(error))
            .at(at.display())
            .help("steps count from 0; without --to, all are replayed"),
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
            let help =
                format!("what is committed is whole: `tadpole resume {}` goes on from there", at.display());
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
