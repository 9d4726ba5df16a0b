//! Measures policies of a run, outside of its log.

use tadpole_scenarios::schema::HeldOutSet;
use tadpole_systems::analysis::{self, EvaluationSummary, Recalibration, Tasks};

use super::existing::Existing;
use super::show::story_failure;
use super::watch::Watch;
use crate::engine::{EvalRequest, RecalibrateRequest, SetChoice};
use crate::failure::Failure;
use crate::progress::Observer;

/// Measures a policy on a set.
pub(super) fn eval(
    request: &EvalRequest,
    observer: &dyn Observer,
) -> Result<Vec<EvaluationSummary>, Failure> {
    let EvalRequest { run: directory, iteration, set, speed } = request;
    let run = Existing::open(directory, speed)?;
    let (set, tasks) = match set {
        SetChoice::Drawn(set) => (set.clone(), Tasks::Drawn),
        SetChoice::OfRun { name, samples, temperature, greedy } => {
            let known = of_run(&run, name)?;
            let pass_at =
                known.pass_at.iter().copied().filter(|k| samples.is_none_or(|samples| *k <= samples));
            let set = HeldOutSet {
                samples: samples.unwrap_or(known.samples),
                temperature: temperature.unwrap_or(known.temperature),
                greedy: known.greedy || *greedy,
                pass_at: pass_at.collect(),
                ..known.clone()
            };
            (set, Tasks::OfRun)
        }
    };
    let assembly = run.assembled()?;
    let measured = Watch::over(&assembly.meter, observer, |_| {
        analysis::evaluate(&run.reader, &assembly, *iteration, (&set, &tasks))
    });
    measured
        .map_err(|error| story_failure(directory, &error))?
        .ok_or_else(|| no_iteration(&run, *iteration, "no policy"))
}

/// Measures the tasks of an iteration again.
pub(super) fn recalibrate(
    request: &RecalibrateRequest,
    observer: &dyn Observer,
) -> Result<Recalibration, Failure> {
    let RecalibrateRequest { run: directory, iteration, samples, refined, speed } = request;
    let run = Existing::open(directory, speed)?;
    let assembly = run.assembled()?;
    let measured = Watch::over(&assembly.meter, observer, |_| {
        analysis::recalibrate(&run.reader, &assembly, *iteration, (*samples, *refined))
    });
    let measured = measured.map_err(|error| story_failure(directory, &error))?;
    measured.ok_or_else(|| no_iteration(&run, Some(*iteration), "no batch"))
}

fn of_run<'a>(run: &'a Existing, name: &str) -> Result<&'a HeldOutSet, Failure> {
    let sets = &run.scenario.evaluation.sets;
    sets.iter().find(|set| set.name == name).ok_or_else(|| {
        let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
        Failure::usage(format!("this run has no held-out set `{name}`"))
            .at(run.directory.display())
            .help(format!("it has: {}; without --set, tasks are drawn afresh", names.join(", ")))
    })
}

fn no_iteration(run: &Existing, iteration: Option<u32>, lacking: &str) -> Failure {
    let which = iteration.map(|iteration| format!(" of iteration {iteration}")).unwrap_or_default();
    Failure::usage(format!("the run has {lacking}{which} (yet)"))
        .at(run.directory.display())
        .help("`tadpole show RUN` shows how far it is")
}
