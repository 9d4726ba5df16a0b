//! The `tadpole` binary under test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;

use tadpole_systems::sandbox::WorkerCommand;

use crate::scratch::{profile_directory, workspace};

/// What a finished command left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Exit code; -1 where a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Outcome {
    /// Standard output as JSON.
    ///
    /// # Panics
    /// Where it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// Itself, where the exit code is 0.
    ///
    /// # Panics
    /// Where it is not.
    #[must_use]
    pub fn succeeded(self) -> Self {
        assert_eq!(self.code, 0, "{self}");
        self
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, stdout, stderr } = self;
        write!(out, "exit code {code}\n-- stdout\n{stdout}\n-- stderr\n{stderr}")
    }
}

/// The binary of the profile that the running test was built with.
///
/// `cargo test --workspace` has built it before any test runs. Where a test is run by itself and a source is newer than the
/// binary, cargo builds it first.
///
/// # Panics
/// Where it cannot be built.
pub fn tadpole() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| built(&profile_directory()))
}

/// The binary of the debug profile, built if need be: a first build of it takes minutes.
///
/// # Panics
/// Where it cannot be built.
pub fn debug_tadpole() -> PathBuf {
    built(&profile_directory().with_file_name("debug"))
}

/// A command line of the binary, to be run.
pub fn command<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(tadpole());
    command.args(arguments).stdin(Stdio::null());
    command
}

/// `command` in another working directory and another environment: other zone, language, home and logging.
pub fn elsewhere<'a>(command: &'a mut Command, directory: &Path) -> &'a mut Command {
    command
        .current_dir(directory)
        .env("TZ", "Pacific/Kiritimati")
        .env("LANG", "tr_TR.UTF-8")
        .env("LC_ALL", "tr_TR.UTF-8")
        .env("HOME", directory)
        .env("RUST_LOG", "trace")
        .env("RUST_BACKTRACE", "full")
}

/// Runs a command to its end.
///
/// # Panics
/// Where it does not start.
pub fn finish(command: &mut Command) -> Outcome {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs `tadpole` with these arguments to its end.
pub fn run<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Outcome {
    finish(&mut command(arguments))
}

/// Starts sandbox workers of the binary under test.
pub fn worker() -> WorkerCommand {
    WorkerCommand { program: tadpole().to_path_buf(), arguments: vec!["worker".to_owned()] }
}

/// The binary in the directory of a profile.
fn built(profile: &Path) -> PathBuf {
    let path = profile.join(format!("tadpole{}", std::env::consts::EXE_SUFFIX));
    if is_stale(&path) {
        build(profile);
    }
    assert!(path.is_file(), "there is no {}, although cargo built it", path.display());
    path
}

/// Has cargo build the binary into the directory of a profile.
fn build(directory: &Path) {
    let profile = match directory.file_name().and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        Some(other) => other,
        None => "release",
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--profile", profile, "--package", "tadpole", "--bin", "tadpole"])
        .arg("--target-dir")
        .arg(directory.parent().expect("a profile lies in a target directory"))
        .current_dir(workspace())
        .status()
        .expect("cargo starts");
    assert!(status.success(), "the binary does not build");
}

/// Whether a source is newer than the binary.
fn is_stale(binary: &Path) -> bool {
    let Ok(built) = fs::metadata(binary).and_then(|facts| facts.modified()) else { return true };
    ["Cargo.toml", "Cargo.lock", "kernel", "gpu", "scenarios", "systems", "tools"]
        .iter()
        .any(|part| newest(&workspace().join(part)) > built)
}

/// The newest modification at or below `path`; a package's tests and benchmarks are no part of its binary.
fn newest(path: &Path) -> SystemTime {
    let facts = fs::symlink_metadata(path).unwrap();
    if !facts.is_dir() {
        return facts.modified().unwrap();
    }
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    let entries = entries.filter(|entry| {
        !["tests", "benches", "examples", "target"].iter().any(|it| entry.file_name() == *it)
    });
    entries.map(|entry| newest(&entry.path())).max().unwrap_or(SystemTime::UNIX_EPOCH)
}
