//! The engine that does the work itself: in this process and in the sandbox workers that it starts.

mod diff;
mod doctor;
mod drive;
mod eval;
mod execution;
mod existing;
mod failures;
mod fork;
mod pretrain;
mod recording;
mod replay;
mod seek;
mod shadow;
mod show;
mod teller;
mod upkeep;
mod verify;
mod watch;
mod world;

use std::path::Path;
use std::process::ExitCode;

use tadpole_kernel::upkeep::Collection;
use tadpole_scenarios::schema::Admission;
use tadpole_systems::analysis::{EvaluationSummary, Recalibration, RunSummary};
use tadpole_systems::sandbox::worker;

use super::{
    CheckReport, DiffReport, Engine, EvalRequest, Finding, ForkReport, ForkRequest, GcReport, PretrainReport,
    PretrainRequest, RecalibrateRequest, Recording, ReplayReport, RunRequest, SalvageReport, ShadowReport,
    Shown, Subject, VerifyReport, VerifyRequest,
};
use crate::arguments::Speed;
use crate::failure::Failure;
use crate::progress::Observer;

/// Does the work itself.
pub(crate) struct Local;

impl Engine for Local {
    fn run(&self, request: &RunRequest, observer: &dyn Observer) -> Result<RunSummary, Failure> {
        drive::run(request, observer)
    }

    fn resume(&self, run: &Path, speed: &Speed, observer: &dyn Observer) -> Result<RunSummary, Failure> {
        drive::resume(run, speed, observer)
    }

    fn replay(&self, run: &Path, to: Option<u64>, observer: &dyn Observer) -> Result<ReplayReport, Failure> {
        replay::replay(run, to, observer)
    }

    fn keyframes(&self, run: &Path, observer: &dyn Observer) -> Result<u64, Failure> {
        replay::keyframes(run, observer)
    }

    fn fork(&self, request: &ForkRequest) -> Result<ForkReport, Failure> {
        fork::fork(request)
    }

    fn diff(&self, left: &Path, right: &Path) -> Result<DiffReport, Failure> {
        diff::diff(left, right)
    }

    fn verify(&self, request: &VerifyRequest, observer: &dyn Observer) -> Result<VerifyReport, Failure> {
        verify::verify(request, observer)
    }

    fn summary(&self, run: &Path) -> Result<RunSummary, Failure> {
        existing::summary(run)
    }

    fn show(&self, run: &Path, subject: &Subject) -> Result<Shown, Failure> {
        show::show(run, subject)
    }

    fn shadow(&self, run: &Path, rules: &[Admission]) -> Result<ShadowReport, Failure> {
        shadow::shadow(run, rules)
    }

    fn open(&self, run: &Path) -> Result<Box<dyn Recording>, Failure> {
        Ok(Box::new(recording::Local::open(run)?))
    }

    fn eval(
        &self,
        request: &EvalRequest,
        observer: &dyn Observer,
    ) -> Result<Vec<EvaluationSummary>, Failure> {
        eval::eval(request, observer)
    }

    fn recalibrate(
        &self,
        request: &RecalibrateRequest,
        observer: &dyn Observer,
    ) -> Result<Recalibration, Failure> {
        eval::recalibrate(request, observer)
    }

    fn check(&self, run: &Path) -> CheckReport {
        upkeep::check(run)
    }

    fn salvage(&self, run: &Path, out: &Path) -> Result<SalvageReport, Failure> {
        upkeep::salvage(run, out)
    }

    fn gc(&self, run: &Path, collection: Collection) -> Result<GcReport, Failure> {
        upkeep::gc(run, collection)
    }

    fn pretrain(
        &self,
        request: &PretrainRequest,
        observer: &dyn Observer,
    ) -> Result<PretrainReport, Failure> {
        pretrain::pretrain(request, observer)
    }

    fn doctor(&self) -> Vec<Finding> {
        doctor::doctor()
    }

    fn worker(&self) -> Result<(), Failure> {
        if worker::main() == ExitCode::SUCCESS {
            Ok(())
        } else {
            Err(Failure::failed("the sandbox worker failed"))
        }
    }
}
