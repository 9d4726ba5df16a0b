//! `tadpole check`: is a run whole? Nothing is executed.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::engine::{CheckReport, Complaint, Engine};
use crate::failure::Failure;
use crate::{scenario, text};

/// Problems shown; what lies behind is counted.
const SHOWN: usize = 8;

/// Arguments of `tadpole check`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The run's directory.
    run: PathBuf,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command; anything wrong is a failure, whether or not the findings could be written.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    scenario::existing_directory(&options.run)?;
    let report = engine.check(&options.run);
    let written = if options.json { super::json(out, &report) } else { Ok(()) };
    if let Some(failure) = problems(&report.problems, &options.run) {
        return Err(failure);
    }
    written?;
    if !options.json {
        write!(out, "{}", whole(&report))?;
    }
    Ok(())
}

fn whole(report: &CheckReport) -> String {
    let CheckReport { steps, events, chain, finished, live, blobs, answers, .. } = report;
    let state = match (live, finished) {
        (true, _) => "being written",
        (false, true) => "finished",
        (false, false) => "not finished",
    };
    let mut lines = vec![
        format!(
            "log      {} and {events} events, every byte and every world as recorded; {state}",
            text::counted(*steps, "step")
        ),
        format!("chain    {}", chain.as_deref().unwrap_or_default()),
        format!("blobs    {} whole, {} dropped as superseded", blobs.whole, blobs.dropped),
        format!("effects  {} whole", answers.whole),
    ];
    if blobs.unnamed > 0 {
        lines.push(format!(
            "{} of an interrupted step: resuming uses what it needs, `tadpole gc` removes the rest",
            text::counted(blobs.unnamed, "blob")
        ));
    }
    lines.join("\n") + "\n"
}

fn problems(problems: &[Complaint], run: &Path) -> Option<Failure> {
    let (first, rest) = problems.split_first()?;
    let mut what = first.what.clone();
    for Complaint { file, what: other, .. } in rest.iter().take(SHOWN - 1) {
        // What is said of a scenario names the file itself, with the line.
        let place = if other.starts_with(&format!("{file}:")) { String::new() } else { format!("{file}: ") };
        what = format!("{what}\n also: {place}{other}");
    }
    if problems.len() > SHOWN {
        let more = text::counted((problems.len() - SHOWN) as u64, "further problem");
        what = format!("{what}\n  and: {more} (--json lists all)");
    }
    let place = run.join(&first.file);
    let place = match first.byte {
        Some(byte) => format!("{}, byte {byte}", place.display()),
        None => place.display().to_string(),
    };
    Some(Failure::failed(what).at(place).help(first.help.clone()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_directory, tadpole, unread};
    use super::*;
    use crate::engine::samples::Sample;
    use crate::failure::Kind;

    fn complaint(file: &str, byte: Option<u64>, what: &str) -> Complaint {
        Complaint { file: file.into(), byte, what: what.into(), help: "restore it".into() }
    }

    #[test]
    fn a_whole_run_is_described() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        insta::assert_snapshot!(tadpole("check {}", &run, &Sample::default()).unwrap());
    }

    #[test]
    fn what_is_wrong_is_said_with_place_and_help_and_fails() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        let torn = complaint("log/00000001.seg", Some(1_280), "the body does not match its CRC");
        let blobs = (0..9).map(|n| complaint(&format!("blobs/ab/{n}"), None, "is missing"));
        let engine = Sample { complaints: [torn].into_iter().chain(blobs).collect(), ..Sample::default() };
        let failure = tadpole("check {}", &run, &engine).expect_err("not whole");
        assert_eq!(failure.kind(), Kind::Failed);
        insta::assert_snapshot!(failure.to_string().replace(run.to_str().unwrap(), "RUN"));
        assert_eq!(tadpole("check {} --json", &run, &engine).expect_err("not whole").kind(), Kind::Failed);
        assert_eq!(unread("check {} --json", &run, &engine).kind(), Kind::Failed);
        assert_eq!(unread("check {} --json", &run, &Sample::default()).kind(), Kind::Closed);
    }

    #[test]
    fn a_run_without_its_scenario_is_checked_all_the_same() {
        let parent = tempfile::tempdir().unwrap();
        let run = run_directory(parent.path());
        std::fs::remove_file(run.join("scenario.toml")).unwrap();
        tadpole("check {}", &run, &Sample::default()).unwrap();
        let absent = tadpole("check {}", &run.join("absent"), &Sample::default()).expect_err("absent");
        assert_eq!(absent.kind(), Kind::Usage);
    }
}
