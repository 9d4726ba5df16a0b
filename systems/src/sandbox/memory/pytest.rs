//! The `pytest` command.

use crate::interpreter::{Interpreter, Monty, Sources};
use crate::sandbox::{Limits, TestReport};

use super::suite::{Keyword, Selection, Suite};
use super::{budget, output};

/// What a command printed, and its exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ran {
    /// Standard output.
    pub(super) stdout: Vec<u8>,
    /// Standard error.
    pub(super) stderr: Vec<u8>,
    /// The exit code.
    pub(super) exit_code: i32,
}

impl Ran {
    /// A failure with a message.
    pub(super) fn failed(exit_code: i32, message: &str) -> Self {
        Self { stdout: Vec::new(), stderr: format!("{message}\n").into_bytes(), exit_code }
    }
}

/// The files of a project, by path from its root.
pub(super) trait Project: Sources {
    /// All files, ascending.
    fn paths(&self) -> Vec<String>;

    /// The path from the root of what `argument` names where the command runs; `None` outside of the project.
    fn locate(&self, argument: &str) -> Option<String>;
}

/// Exit codes, as pytest's.
const OK: i32 = 0;
const FAILURES: i32 = 1;
const INTERRUPTED: i32 = 2;
const USAGE: i32 = 4;
const NO_TESTS: i32 = 5;

#[derive(Debug, Default)]
struct Options {
    targets: Vec<String>,
    keyword: Option<Keyword>,
    failures_max: usize,
    is_verbose: bool,
    hides_details: bool,
    only_collects: bool,
}

/// Runs `pytest` with `arguments`.
pub(super) fn run(project: &dyn Project, arguments: &[String], limits: &Limits) -> (Ran, Option<TestReport>) {
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(ran) => return (ran, None),
    };
    let files = match collect(project, &options) {
        Ok(files) => files,
        Err(ran) => return (ran, None),
    };
    let (ran, report) = run_files(&Monty, project, &files, &options, limits);
    (ran, Some(report))
}

fn run_files(
    interpreter: &dyn Interpreter,
    project: &dyn Project,
    files: &[(String, Vec<String>)],
    options: &Options,
    limits: &Limits,
) -> (Ran, TestReport) {
    let mut suite = Suite::new(interpreter, project, budget(limits));
    let mut is_collected = true;
    for (file, _) in files {
        is_collected &= suite.load_file(file);
    }
    if is_collected && !options.only_collects {
        for (file, names) in files {
            let selection = Selection {
                names: names.clone(),
                keyword: options.keyword.clone(),
                failures_max: options.failures_max,
            };
            if !suite.run_file(file, &selection) {
                break;
            }
        }
    }
    let mut text = String::new();
    if options.is_verbose {
        text.push_str(&output::listing(suite.report()));
    }
    if !options.hides_details {
        text.push_str(&output::failures(suite.failures()));
    }
    text.push_str(&output::summary(suite.report(), suite.deselected()));
    let exit_code = if !is_collected {
        INTERRUPTED
    } else if !suite.failures().is_empty() {
        FAILURES
    } else if suite.report().tests.is_empty() {
        NO_TESTS
    } else {
        OK
    };
    (Ran { stdout: text.into_bytes(), stderr: Vec::new(), exit_code }, suite.into_report())
}

/// The files to run, and the names to select in each.
fn collect(project: &dyn Project, options: &Options) -> Result<Vec<(String, Vec<String>)>, Ran> {
    let all = project.paths();
    let everything = [".".to_owned()];
    let targets = if options.targets.is_empty() { &everything } else { options.targets.as_slice() };
    let mut files: Vec<(String, Vec<String>)> = Vec::new();
    for target in targets {
        let (path, name) = match target.split_once("::") {
            Some((path, name)) => (path, Some(name.to_owned())),
            None => (target.as_str(), None),
        };
        let missing = || Ran::failed(USAGE, &format!("ERROR: file or directory not found: {path}"));
        let located = project.locate(path).ok_or_else(missing)?;
        if all.binary_search(&located).is_ok() {
            add(&mut files, &located, name);
        } else if project.is_dir(&located) {
            let below = |file: &&String| {
                located.is_empty() || file.strip_prefix(&located).is_some_and(|rest| rest.starts_with('/'))
            };
            for file in all.iter().filter(below).filter(|file| is_test_file(file)) {
                add(&mut files, file, None);
            }
        } else {
            return Err(missing());
        }
    }
    Ok(files)
}

fn add(files: &mut Vec<(String, Vec<String>)>, path: &str, name: Option<String>) {
    match files.iter_mut().find(|(file, _)| file == path) {
        Some((_, names)) if !names.is_empty() => match name {
            Some(name) => names.push(name),
            None => names.clear(),
        },
        Some(_) => {}
        None => files.push((path.to_owned(), name.into_iter().collect())),
    }
}

fn is_test_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".py").is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Ran> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let (flag, inline) = match argument.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
                _ => (argument.as_str(), None),
            };
            match flag {
                "-k" => options.set_keyword(rest.next())?,
                "-x" | "--exitfirst" => options.failures_max = 1,
                "--maxfail" => {
                    let value = inline.or_else(|| rest.next().cloned());
                    let count = value.and_then(|value| value.parse().ok());
                    options.failures_max =
                        count.ok_or_else(|| usage("argument --maxfail: invalid int value"))?;
                }
                "-v" | "-vv" | "--verbose" => options.is_verbose = true,
                "--tb" => {
                    let value = inline.or_else(|| rest.next().cloned());
                    options.hides_details = value.as_deref() == Some("no");
                }
                "--collect-only" | "--co" => options.only_collects = true,
                "-c" | "-p" | "-m" | "-o" | "-W" | "--rootdir" | "--color" | "--import-mode" => {
                    if inline.is_none() {
                        rest.next();
                    }
                }
                "-q" | "-qq" | "--quiet" | "-s" | "-l" | "--no-header" | "--no-summary" | "--showlocals"
                | "--lf" | "--ff" => {}
                flag if flag.starts_with("-r") => {}
                flag if flag.starts_with('-') && flag.len() > 2 && !flag.starts_with("--") => {
                    // Short flags together: `-xq`.
                    for letter in flag[1..].chars() {
                        match letter {
                            'x' => options.failures_max = 1,
                            'v' => options.is_verbose = true,
                            'q' | 's' | 'l' => {}
                            _ => return Err(usage(&format!("unrecognized arguments: {flag}"))),
                        }
                    }
                }
                flag if flag.starts_with('-') => {
                    return Err(usage(&format!("unrecognized arguments: {flag}")));
                }
                target => options.targets.push(target.to_owned()),
            }
        }
        Ok(options)
    }

    fn set_keyword(&mut self, value: Option<&String>) -> Result<(), Ran> {
        let value = value.ok_or_else(|| usage("argument -k: expected one argument"))?;
        self.keyword = Some(
            Keyword::parse(value)
                .ok_or_else(|| usage(&format!("Wrong expression passed to '-k': {value}")))?,
        );
        Ok(())
    }
}

fn usage(message: &str) -> Ran {
    Ran::failed(USAGE, &format!("ERROR: {message}"))
}
