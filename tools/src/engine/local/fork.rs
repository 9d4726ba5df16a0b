//! Goes on from a step of a run as another.

use std::path::Path;

use tadpole_kernel::fork::{self, Fork, ForkError, Forked, Prefix};
use tadpole_kernel::id::Step;
use tadpole_kernel::world::{Phase, Progress};
use tadpole_scenarios::schema::{Change, Changeable, Scenario, changes};
use tadpole_systems::assembly;

use super::existing::unchanged;
use super::failures;
use crate::engine::{Changed, ForkReport, ForkRequest};
use crate::failure::Failure;

/// Makes a run that goes on from a step of another.
pub(super) fn fork(request: &ForkRequest) -> Result<ForkReport, Failure> {
    let ForkRequest { run, at, set, directory } = request;
    let prefix = Prefix::read(run, Step(*at)).map_err(|error| refused(run, &error))?;
    let text = prefix.reader().scenario().map_err(|error| failures::run(run, &error))?;
    let name = run.join("scenario.toml").display().to_string();
    let parent = Scenario::parse(&text, &name)?;
    unchanged(prefix.reader(), &parent)?;
    let child = Scenario::parse_with(&text, &name, set)?;
    let changes = changes(&parent, &child);
    may_change(&changes, prefix.view().progress(), prefix.boundary())
        .map_err(|failure| failure.at(format!("step {at}")))?;
    let (scenario, header) = (child.to_toml(), assembly::header(&child));
    let fork = Fork { dir: directory, scenario: &scenario, header };
    let forked = fork::fork(prefix, &fork).map_err(|error| refused(run, &error))?;
    Ok(report(forked, changes))
}

fn report(forked: Forked, changes: Vec<Change>) -> ForkReport {
    let Forked { run, parent, step, chain, linked, copied } = forked;
    let changed = |Change { key, was, becomes, when: _ }| Changed { key, was, becomes };
    ForkReport {
        run_id: run.to_hex(),
        parent: parent.to_hex(),
        step: step.0,
        chain: chain.to_hex(),
        changes: changes.into_iter().map(changed).collect(),
        linked,
        copied,
    }
}

/// Refuses changes that would contradict what happened; `boundary` is the last step that ended an iteration.
fn may_change(changes: &[Change], progress: &Progress, boundary: Option<Step>) -> Result<(), Failure> {
    let between = progress.iteration_finished || progress.phase == Phase::Opening;
    for Change { key, when, .. } in changes {
        match when {
            Changeable::Never(reason) => {
                let what = format!("{key} cannot change in the course of a run: {reason}");
                return Err(Failure::usage(what).help("start a new run with `tadpole run`"));
            }
            Changeable::BetweenIterations if !between => {
                let what = format!(
                    "{key} can change between iterations only, and iteration {} is under way",
                    progress.iteration
                );
                let help = match boundary {
                    Some(step) => {
                        format!("fork at step {step}, which ends the iteration before (--at {step})")
                    }
                    None => "no earlier step ends an iteration: fork at a later one".to_owned(),
                };
                return Err(Failure::usage(what).help(help));
            }
            Changeable::Always | Changeable::BetweenIterations => {}
        }
    }
    Ok(())
}

fn refused(run: &Path, error: &ForkError) -> Failure {
    match error {
        ForkError::Run(error) => failures::run(run, error),
        ForkError::Replay(error) => failures::replay(run, error),
        ForkError::Dropped { .. } => Failure::failed(failures::reasons(error))
            .at(run.display())
            .help("fork where an iteration ends, or make the run with log.keep = \"all\"; a blob that was lost has to be restored from a copy of the run"),
        ForkError::Contradiction { .. } | ForkError::Over { .. } => {
            Failure::usage(failures::reasons(error)).at(run.display())
        }
        ForkError::Encode(_) => Failure::failed(failures::reasons(error)).at(run.display()),
    }
}

#[cfg(test)]
mod tests {
    use tadpole_kernel::id::Iteration;

    use super::*;
    use crate::failure::Kind;

    fn change(key: &str, when: Changeable) -> Change {
        Change { key: key.to_owned(), was: None, becomes: None, when }
    }

    #[test]
    fn what_may_change_depends_on_where_the_run_stands() {
        let within = Progress { iteration: Iteration(2), phase: Phase::Curriculum, ..Progress::default() };
        let between = Progress { iteration_finished: true, ..within.clone() };
        let rule = [change("curriculum.admission", Changeable::Always)];
        let group = [change("rollout.group", Changeable::BetweenIterations)];
        let seed = [change("seed", Changeable::Never("numbers follow from it"))];
        let end = Some(Step(41));
        assert_eq!(may_change(&rule, &within, end), Ok(()));
        assert_eq!(may_change(&group, &between, end), Ok(()));
        let failure = may_change(&group, &within, end).expect_err("within an iteration");
        assert!(failure.to_string().contains("iteration 2 is under way"), "{failure}");
        assert!(failure.to_string().contains("--at 41"), "{failure}");
        let failure = may_change(&group, &within, None).expect_err("within the first iteration");
        assert!(failure.to_string().contains("no earlier step ends an iteration"), "{failure}");
        let failure = may_change(&seed, &between, end).expect_err("never");
        assert_eq!(failure.kind(), Kind::Usage);
        assert!(failure.to_string().contains("numbers follow from it"), "{failure}");
    }
}
