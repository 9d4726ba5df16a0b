//! From the kernels' text to a shared object.

use crate::source::Sources;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};
use thiserror::Error;

/// Why kernels could not be compiled.
#[derive(Debug, Error)]
pub enum CompileError {
    /// There is no compiler.
    #[error(
        "the C++ compiler {compiler:?} cannot be run ({error}): tests of the CUDA kernels need one; install g++ (or clang) or \
         name one in CXX"
    )]
    Compiler {
        /// What was tried.
        compiler: OsString,
        /// What happened.
        error: io::Error,
    },
    /// The compiler refuses the text.
    #[error("the kernels do not compile:\n{0}")]
    Refused(String),
    /// A file cannot be written.
    #[error("{path}: {error}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
}

/// The runtime's own sources.
const RUNTIME: [(&str, &str); 5] = [
    ("shim.hpp", include_str!("../cxx/shim.hpp")),
    ("fiber.hpp", include_str!("../cxx/fiber.hpp")),
    ("memory.hpp", include_str!("../cxx/memory.hpp")),
    ("emulator.hpp", include_str!("../cxx/emulator.hpp")),
    ("emulator.cpp", include_str!("../cxx/emulator.cpp")),
];

/// Nothing is contracted; an index outside of an array of known size stops the program where it happens.
const FLAGS: [&str; 14] = [
    "-std=c++20",
    "-O2",
    "-ffp-contract=off",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-fsanitize=bounds",
    "-fsanitize-undefined-trap-on-error",
    "-Wall",
    "-Wextra",
    "-Werror",
    // Kernels say how many rows there are even where the grid does.
    "-Wno-unused-parameter",
    // Each kernel uses some of what the headers offer.
    "-Wno-unused-function",
    "-pthread",
];

impl Sources {
    /// Compiles the kernels and the emulator into a shared object, or finds the one that has been compiled before.
    ///
    /// `more` are further C++ files of a library that wraps the emulator, names and texts; they may include
    /// `emulator.hpp`.
    pub fn compile(&self, more: &[(&str, &str)]) -> Result<PathBuf, CompileError> {
        let unity = self.unity();
        let mut files: Vec<(&str, &str)> = RUNTIME.to_vec();
        files.extend(self.files());
        files.push(("unity.cpp", &unity));
        files.extend_from_slice(more);
        let units = ["unity.cpp", "emulator.cpp"];
        let units: Vec<&str> = units.into_iter().chain(more.iter().map(|&(name, _)| name)).collect();

        let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
        let flags = flags();
        let directory = cache().join(key(&compiler, &flags, &files));
        let library = directory.join("kernels.so");
        if library.exists() {
            return Ok(library);
        }
        let write = |path: PathBuf, text: &str| {
            fs::write(&path, text).map_err(|error| CompileError::File { path: path.clone(), error })
        };
        fs::create_dir_all(&directory)
            .map_err(|error| CompileError::File { path: directory.clone(), error })?;
        for (name, text) in &files {
            write(directory.join(name), text)?;
        }
        // Tests of several processes may compile the same text at once: the last rename wins, and all are the same.
        let fresh = directory.join(format!("kernels.{}.so", std::process::id()));
        let mut command = Command::new(&compiler);
        command.current_dir(&directory).args(&flags).args(units.iter().filter(|unit| is_unit(unit)));
        let output = command.arg("-o").arg(&fresh).output();
        let output = output.map_err(|error| CompileError::Compiler { compiler, error })?;
        if !output.status.success() {
            return Err(CompileError::Refused(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        fs::rename(&fresh, &library).map_err(|error| CompileError::File { path: library.clone(), error })?;
        Ok(library)
    }

    /// One file that includes all kernels and lists their entry points.
    fn unity(&self) -> String {
        let mut text = String::from("#include \"shim.hpp\"\n");
        for (name, _) in self.files().filter(|(name, _)| is_kernel(name)) {
            let _infallible = writeln!(text, "#include \"{name}\"");
        }
        text.push_str("const emulator::Entry emulator::entries[] = {\n");
        for entry in self.entries() {
            let _infallible = writeln!(text, "    EMULATOR_ENTRY({entry}),");
        }
        text.push_str("};\nconst size_t emulator::entry_count = std::size(emulator::entries);\n");
        text
    }
}

fn is_unit(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "cpp")
}

fn is_kernel(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "cu")
}

/// The flags for this machine: fused multiply-add in hardware where there is, else the C library's, which is as exact.
fn flags() -> Vec<&'static str> {
    let mut flags = FLAGS.to_vec();
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") {
        flags.push("-mfma");
    }
    flags
}

/// Beside the test that runs, so that cleaning the build cleans this too.
fn cache() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let directory = program.parent().map_or_else(std::env::temp_dir, Path::to_path_buf);
    directory.join("tadpole-emulator")
}

fn key(compiler: &std::ffi::OsStr, flags: &[&str], files: &[(&str, &str)]) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(compiler.as_encoded_bytes());
    flags.iter().for_each(|flag| part(flag.as_bytes()));
    for (name, text) in files {
        part(name.as_bytes());
        part(text.as_bytes());
    }
    hasher.finalize().to_hex()[..24].to_owned()
}
