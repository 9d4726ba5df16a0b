//! The `python` command.

use crate::interpreter::{Fault, Interpreter, Monty};
use crate::sandbox::{Limits, TestReport, Verdict};

use super::pytest::{self, Project, Ran};
use super::{budget, search};

/// What `python --version` prints.
const VERSION: &str = "Python 3.14.0\n";

/// What a `python` command came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PythonRan {
    /// Its output and exit code.
    pub(super) ran: Ran,
    /// The tests of a `python -m pytest`.
    pub(super) report: Option<TestReport>,
    /// How the program ended.
    pub(super) verdict: Verdict,
}

impl From<Ran> for PythonRan {
    fn from(ran: Ran) -> Self {
        Self { ran, ..Self::default() }
    }
}

/// Files outside of the project: what a script argument may name.
pub(super) trait Scripts {
    /// The bytes of the file that `argument` names where the command runs.
    fn script(&self, argument: &str) -> Result<Vec<u8>, String>;
}

/// What to run.
enum Program<'a> {
    Code(&'a str),
    Module(&'a str),
    Script(&'a str),
    Input,
    Version,
}

/// Runs `python` with `arguments`; `input` is its standard input.
pub(super) fn run(
    project: &dyn Project,
    scripts: &dyn Scripts,
    arguments: &[String],
    input: &[u8],
    limits: &Limits,
) -> PythonRan {
    let (program, rest) = match parse(arguments) {
        Ok(parsed) => parsed,
        Err(ran) => return ran.into(),
    };
    let interpret = Interpretation { project, limits };
    match program {
        Program::Version => Ran { stdout: VERSION.into(), ..Ran::default() }.into(),
        Program::Code(code) => interpret.run("<string>", "", code.as_bytes(), "-c", rest),
        Program::Input => interpret.run("<stdin>", "", input, "-", rest),
        Program::Module("pytest" | "py.test") => {
            let (ran, report) = pytest::run(project, rest, limits);
            let verdict = report.as_ref().map(|report| report.verdict).unwrap_or_default();
            PythonRan { ran, report, verdict }
        }
        Program::Module(name) => interpret.run_module(name, rest),
        Program::Script(argument) => match scripts.script(argument) {
            Ok(source) => {
                let located = project.locate(argument);
                let shown = located.as_deref().unwrap_or(argument);
                let directory = located
                    .as_deref()
                    .and_then(|path| path.rsplit_once('/'))
                    .map_or("", |(directory, _)| directory);
                interpret.run(shown, directory, &source, argument, rest)
            }
            Err(reason) => {
                Ran::failed(2, &format!("python: can't open file '{argument}': [Errno 2] {reason}")).into()
            }
        },
    }
}

fn parse(arguments: &[String]) -> Result<(Program<'_>, &[String]), Ran> {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let rest = &arguments[at + 1..];
        match argument.as_str() {
            "-c" => return take(rest, "-c").map(|(code, rest)| (Program::Code(code), rest)),
            "-m" => return take(rest, "-m").map(|(name, rest)| (Program::Module(name), rest)),
            "-V" | "-VV" | "--version" => return Ok((Program::Version, rest)),
            "-" => return Ok((Program::Input, rest)),
            "-W" | "-X" => at += 2,
            flag if flag.starts_with("-c") => return Ok((Program::Code(&flag[2..]), rest)),
            flag if flag.starts_with("-m") => return Ok((Program::Module(&flag[2..]), rest)),
            flag if flag.starts_with('-')
                && flag[1..].chars().all(|letter| "bBdEIOPqsSuvx".contains(letter)) =>
            {
                at += 1;
            }
            flag if flag.starts_with('-') => return Err(Ran::failed(2, &format!("Unknown option: {flag}"))),
            script => return Ok((Program::Script(script), rest)),
        }
    }
    Ok((Program::Input, &[]))
}

fn take<'a>(rest: &'a [String], flag: &str) -> Result<(&'a str, &'a [String]), Ran> {
    match rest.split_first() {
        Some((value, rest)) => Ok((value, rest)),
        None => Err(Ran::failed(2, &format!("Argument expected for the {flag} option"))),
    }
}

struct Interpretation<'a> {
    project: &'a dyn Project,
    limits: &'a Limits,
}

impl Interpretation<'_> {
    fn run_module(&self, name: &str, rest: &[String]) -> PythonRan {
        let missing = || PythonRan::from(Ran::failed(1, &format!("/usr/bin/python: No module named {name}")));
        let session = Monty.session(self.project, &search(""), budget(self.limits));
        let found = session.find(&format!("{name}.__main__")).or_else(|| session.find(name));
        let Some(path) = found else { return missing() };
        let Some(source) = self.project.read(&path) else { return missing() };
        self.run(&path, "", &source, &path, rest)
    }

    /// Runs a text as the main program.
    fn run(&self, shown: &str, directory: &str, source: &[u8], argument: &str, rest: &[String]) -> PythonRan {
        let mut session = Monty.session(self.project, &search(directory), budget(self.limits));
        let arguments: Vec<String> = [argument.to_owned()].into_iter().chain(rest.iter().cloned()).collect();
        let result = session.run_main(shown, source, &arguments);
        let mut ran = Ran { stdout: session.take_output(), ..Ran::default() };
        let mut verdict = Verdict::Completed;
        match result {
            Ok(()) => {}
            Err(Fault::Raised(raised)) if raised.kind == "SystemExit" => exit(&mut ran, &raised.message),
            Err(fault) => {
                ran.stderr = fault.report().into_bytes();
                ran.exit_code = 1;
                if let Fault::Stopped(stop) = fault {
                    verdict = stop.into();
                    ran.exit_code = verdict.exit_code();
                }
            }
        }
        PythonRan { ran, report: None, verdict }
    }
}

/// What `sys.exit(code)` does: a number is the exit code, nothing is 0, a text is printed.
fn exit(ran: &mut Ran, code: &str) {
    match code.parse::<i32>() {
        Ok(number) => ran.exit_code = number & 0xff,
        Err(_) if matches!(code, "" | "None") => {}
        Err(_) => {
            ran.stderr = format!("{code}\n").into_bytes();
            ran.exit_code = 1;
        }
    }
}
