//! An engine that has nothing behind it: it says so.

use std::path::Path;

use super::{
    Engine, EvalRequest, EvaluationSummary, Finding, PretrainReport, PretrainRequest, ReplayReport,
    RunRequest, RunSummary, Shown, Subject, VerifyReport, VerifyRequest,
};
use crate::failure::Failure;
use crate::progress::Observer;

/// The engine of a build without systems.
pub(crate) struct Unwired;

fn absent<T>() -> Result<T, Failure> {
    Err(Failure::failed("this build has no systems").help("build it with `cargo build --release`"))
}

impl Engine for Unwired {
    fn run(&self, _: &RunRequest, _: &dyn Observer) -> Result<RunSummary, Failure> {
        absent()
    }

    fn resume(&self, _: &Path, _: Option<u32>, _: &dyn Observer) -> Result<RunSummary, Failure> {
        absent()
    }

    fn replay(&self, _: &Path, _: Option<u64>, _: &dyn Observer) -> Result<ReplayReport, Failure> {
        absent()
    }

    fn verify(&self, _: &VerifyRequest, _: &dyn Observer) -> Result<VerifyReport, Failure> {
        absent()
    }

    fn summary(&self, _: &Path) -> Result<RunSummary, Failure> {
        absent()
    }

    fn show(&self, _: &Path, _: &Subject) -> Result<Shown, Failure> {
        absent()
    }

    fn eval(&self, _: &EvalRequest, _: &dyn Observer) -> Result<Vec<EvaluationSummary>, Failure> {
        absent()
    }

    fn pretrain(&self, _: &PretrainRequest, _: &dyn Observer) -> Result<PretrainReport, Failure> {
        absent()
    }

    fn doctor(&self) -> Vec<Finding> {
        Vec::new()
    }

    fn worker(&self) -> Result<(), Failure> {
        absent()
    }
}
