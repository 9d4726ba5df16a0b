//! A CUDA device without a device: the driver's library that programs find is one over the emulator, so that the code that
//! talks to a device runs as it is.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use thiserror::Error;

use crate::{CompileError, Sources};

/// A stand-in for the driver's library, to be compiled with the kernels.
const DRIVER: (&str, &str) = ("driver.cpp", include_str!("../cxx/driver.cpp"));
/// Where the loader looks first.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
/// What the stand-in reads to be another machine.
const SETTINGS: &str = "TADPOLE_STAND_IN";
/// Set in a test that runs in a process of its own.
const CHILD: &str = "TADPOLE_TEST_CHILD";
/// The names under which programs look for the driver.
const NAMES: [&str; 7] = [
    "libcuda.so",
    "libcuda.so.1",
    "libcuda.so.12",
    "libcuda.so.13",
    "libcuda64.so",
    "libnvcuda.so",
    "libnvcuda.so.1",
];

/// Why there is no such machine.
#[derive(Debug, Error)]
pub enum MachineError {
    /// The kernels or the stand-in do not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A file cannot be read or written.
    #[error("{path}: {error}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// The test failed where the machine is.
    #[error("{0}")]
    Failed(String),
}

/// What a program finds where it looks for a CUDA driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    directory: PathBuf,
    settings: String,
}

impl Machine {
    /// A machine with a device that runs the kernels of this directory.
    pub fn with_device(kernels: &Path) -> Result<Self, MachineError> {
        let file = |path: &Path| {
            let path = path.to_path_buf();
            move |error| MachineError::File { path, error }
        };
        let library = Sources::read(kernels).map_err(file(kernels))?.compile(&[DRIVER])?;
        let directory = library.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let name = directory.join(NAMES[0]);
        if !name.exists() {
            // Tests of several processes may come here at once: the last rename wins, and all are the same.
            let fresh = directory.join(format!("driver.{}", std::process::id()));
            fs::copy(&library, &fresh).map_err(file(&fresh))?;
            fs::rename(&fresh, &name).map_err(file(&name))?;
        }
        Ok(Self { directory, settings: String::new() })
    }

    /// A machine on which every library of that name is this file, put into this directory.
    pub fn with_file(directory: &Path, library: &[u8]) -> Result<Self, MachineError> {
        for name in NAMES {
            let path = directory.join(name);
            fs::write(&path, library).map_err(|error| MachineError::File { path, error })?;
        }
        Ok(Self { directory: directory.to_path_buf(), settings: String::new() })
    }

    /// The same machine with other properties: words that `cxx/driver.cpp` explains, e.g. `devices=0`.
    #[must_use]
    pub fn set(&self, settings: &str) -> Self {
        Self { directory: self.directory.clone(), settings: settings.to_owned() }
    }

    /// Makes a command find this machine.
    pub fn on<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env(LIBRARY_PATH, &self.directory).env(SETTINGS, &self.settings)
    }

    /// Runs `body` in a process that finds this machine: the running test again, by its full name.
    pub fn run(&self, test: &str, body: impl FnOnce()) -> Result<(), MachineError> {
        if std::env::var_os(CHILD).is_some_and(|name| name == test) {
            body();
            return Ok(());
        }
        let program =
            std::env::current_exe().map_err(|error| MachineError::File { path: "the test".into(), error })?;
        let mut command = Command::new(&program);
        command.args(["--exact", test, "--nocapture", "--test-threads", "1"]).env(CHILD, test);
        let output = self.on(&mut command).output();
        let output = output.map_err(|error| MachineError::File { path: program, error })?;
        let said = String::from_utf8_lossy(&output.stdout);
        if output.status.success() && said.contains("1 passed") {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(MachineError::Failed(format!("{test} on {self:?}: {}\n{said}\n{errors}", output.status)))
    }
}
