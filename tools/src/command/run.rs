//! `tadpole run`: start a run of a scenario.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use tadpole_scenarios::assets;
use tadpole_scenarios::schema::{PretrainScenario, ProgressKind, Scenario, ScenarioError};
use tadpole_systems::analysis::{EvaluationSummary, RunSummary};

use crate::arguments::Changes;
use crate::engine::{Engine, RunRequest};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{scenario, table, text};

/// Arguments of `tadpole run`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// A scenario file, or the name of one that ships with tadpole: frognano, reuse, smoke, nano.
    #[arg(required_unless_present = "print_defaults")]
    scenario: Option<String>,
    /// The run's directory; without it, `runs/<name>-<seed>`. It must not exist.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
    /// Print every key of a scenario with its meaning, default and range, and do nothing.
    #[arg(long)]
    print_defaults: bool,
}

/// Runs the command.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    let Some(given) = options.scenario.as_deref().filter(|_| !options.print_defaults) else {
        write!(out, "{}", Scenario::print_defaults())?;
        return Ok(());
    };
    let source = scenario::find(given, assets::SCENARIOS)?;
    let checked = Scenario::parse_with(&source.text, &source.name, &options.changes.overrides())
        .map_err(|error| refused(error, &source))?;
    let directory = scenario::new_directory(&checked, options.out.as_deref())?;
    let progress = Progress::new(checked.exec.progress);
    let summary = engine.run(
        &RunRequest { scenario: checked, base: source.directory, directory: directory.clone() },
        &progress,
    )?;
    drop(progress);
    report(&summary, &directory, options.json, out)
}

/// A scenario that is none; one that is sound for `pretrain` is pointed there.
fn refused(error: ScenarioError, source: &scenario::Source) -> Failure {
    let scenario::Source { name, text, directory: _ } = source;
    if PretrainScenario::parse(text, name).is_err() {
        return error.into();
    }
    Failure::usage("this is a scenario of pre-training")
        .at(name)
        .help(format!("`tadpole pretrain {name}` takes it"))
}

/// How progress is shown by commands that read a finished scenario.
pub(crate) fn progress() -> Progress {
    Progress::new(ProgressKind::Auto)
}

/// Renders what a run came to; a run that ended early is a failure.
pub(crate) fn report(
    summary: &RunSummary,
    run: &Path,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    // How the run ended counts, whether or not the summary could be written.
    let written = if json { super::json(out, summary) } else { tables(summary, run, out) };
    match &summary.refused {
        None => written,
        Some(reason) => Err(Failure::failed(format!("an update was refused: {reason}"))
            .at(run.display())
            .help("it would recur; look at the update with `tadpole show`, then change the scenario")),
    }
}

fn tables(summary: &RunSummary, run: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{}", table::iterations(&summary.iterations))?;
    let evaluations: Vec<EvaluationSummary> = summary.evaluations().cloned().collect();
    if !evaluations.is_empty() {
        writeln!(out, "{}", table::evaluations(&evaluations))?;
    }
    write!(out, "{}", facts(summary, run))?;
    Ok(())
}

/// The lines below the tables.
fn facts(summary: &RunSummary, run: &Path) -> String {
    let RunSummary { run_id, chain, world, steps, events, cpu_s, peak_bytes, watchdogs, .. } = summary;
    let cpu = cpu_s.map(|cpu_s| format!(", {cpu_s:.1} s of processor time")).unwrap_or_default();
    let memory = peak_bytes.map(|bytes| format!(", {} MiB at most", bytes >> 20)).unwrap_or_default();
    let mut lines = vec![
        format!("run    {run_id}"),
        format!("chain  {chain}"),
        format!("world  {world}"),
        format!("{steps} steps, {events} events{cpu}{memory}, in {}", run.display()),
    ];
    if let (Some(first), Some(last)) = (summary.iterations.first(), summary.iterations.last())
        && let (Some(before), Some(after)) = (first.solve_rate, last.solve_rate)
        && last.iteration > 0
    {
        let gain = text::points(after - before);
        lines.push(format!("solved {} -> {} ({gain} points)", text::percent(before), text::percent(after)));
    }
    if *watchdogs > 0 {
        lines.push(format!(
            "the wall-clock watchdog fired {watchdogs} times: raise sandbox.watchdog_ms or lower sandbox.fuel"
        ));
    }
    if !summary.finished && summary.refused.is_none() {
        lines.push(format!("not finished: go on with `tadpole resume {}`", run.display()));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::testing::{tadpole, unread};
    use super::*;
    use crate::engine::samples::Sample;
    use crate::failure::Kind;

    #[test]
    fn a_run_ends_with_its_tables() {
        let parent = tempfile::tempdir().unwrap();
        let engine = Sample::default();
        let printed = tadpole(
            "run nano --out {}/r --seed 7 --threads 2 --set exec.progress=none",
            parent.path(),
            &engine,
        );
        insta::assert_snapshot!(printed.unwrap().replace(parent.path().to_str().unwrap(), "DIR"));
        let asked = engine.asked.borrow();
        assert_eq!(*asked, [format!("({:?}, 7, 2, false)", parent.path().join("r"))]);
    }

    #[test]
    fn a_scenario_of_pretraining_is_told_its_command() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("mine.toml");
        std::fs::write(&file, assets::PRETRAIN.text).unwrap();
        let failure = tadpole("run {}", &file, &Sample::default()).expect_err("none of ours");
        assert_eq!(failure.kind(), Kind::Usage);
        let text = failure.to_string();
        assert!(text.contains("pre-training") && text.contains("tadpole pretrain"), "{text}");
    }

    #[test]
    fn an_unread_summary_does_not_hide_that_the_run_ended_early() {
        let parent = tempfile::tempdir().unwrap();
        let engine = Sample { refused: Some("not finite".to_owned()), ..Sample::default() };
        let line = "run nano --out {}/r --json --set exec.progress=none";
        assert_eq!(unread(line, parent.path(), &engine).kind(), Kind::Failed);
        assert_eq!(unread(line, parent.path(), &Sample::default()).kind(), Kind::Closed);
    }

    #[test]
    fn json_is_the_summary_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let printed =
            tadpole("run nano --out {}/r --json --set exec.progress=none", parent.path(), &Sample::default())
                .unwrap();
        let value: serde_json::Value = serde_json::from_str(&printed).unwrap();
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["chain", "cpu_s", "events", "iterations", "run_id", "steps", "world"]);
        let mut keys: Vec<&String> = value["iterations"][1].as_object().unwrap().keys().collect();
        keys.sort();
        let expected = [
            "admitted",
            "candidates",
            "entropy",
            "iteration",
            "kept_share",
            "p_hat_mean",
            "refined",
            "rejected",
            "solve_high",
            "solve_low",
            "solve_rate",
            "tokens_mean",
        ];
        assert_eq!(keys, expected);
        assert_eq!(value["iterations"][1]["rejected"]["too_hard"], 141);
    }

    #[test]
    fn nothing_runs_where_the_scenario_or_the_directory_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        for line in
            ["run nano --out {}", "run nano --out {}/r --set curriculum.batchs=1", "run nanoo --out {}/r"]
        {
            let engine = Sample::default();
            let failure = tadpole(line, parent.path(), &engine).expect_err(line);
            assert_eq!(failure.kind(), Kind::Usage, "{failure}");
            assert!(engine.asked.borrow().is_empty());
        }
    }

    #[test]
    fn a_refused_update_is_reported_and_fails() {
        let parent = tempfile::tempdir().unwrap();
        let engine = Sample { refused: Some("NaN in layer 2".into()), ..Sample::default() };
        let failure = tadpole("run nano --out {}/r --set exec.progress=none", parent.path(), &engine)
            .expect_err("refused");
        assert_eq!(failure.kind(), Kind::Failed);
        assert!(failure.to_string().contains("NaN in layer 2"), "{failure}");
    }

    #[test]
    fn the_defaults_need_no_scenario() {
        let printed = tadpole("run --print-defaults", Path::new("."), &Sample::default()).unwrap();
        assert_eq!(printed, Scenario::print_defaults());
    }
}
