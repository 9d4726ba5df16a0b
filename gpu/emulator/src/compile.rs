//! From the kernels' text to a shared object.

use crate::source::{Sources, has_extension};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
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

/// What kernels see of the emulator, and what launchers see.
const HEADERS: [(&str, &str); 2] =
    [("shim.hpp", include_str!("../cxx/shim.hpp")), ("emulator.hpp", include_str!("../cxx/emulator.hpp"))];
/// What runs kernels.
const RUNTIME: [(&str, &str); 6] = [
    ("block.hpp", include_str!("../cxx/block.hpp")),
    ("emulator.cpp", include_str!("../cxx/emulator.cpp")),
    ("fiber.hpp", include_str!("../cxx/fiber.hpp")),
    ("machine.hpp", include_str!("../cxx/machine.hpp")),
    ("memory.hpp", include_str!("../cxx/memory.hpp")),
    ("signals.hpp", include_str!("../cxx/signals.hpp")),
];

/// Nothing is contracted; an index outside of an array of known size stops the program where it happens.
const FLAGS: [&str; 12] = [
    "-std=c++20",
    "-O2",
    "-ffp-contract=off",
    "-fPIC",
    "-fvisibility=hidden",
    "-fsanitize=bounds",
    "-fsanitize-undefined-trap-on-error",
    "-Wall",
    "-Wextra",
    // Kernels say how many rows there are even where the grid does.
    "-Wno-unused-parameter",
    // Each kernel uses some of what the headers offer.
    "-Wno-unused-function",
    "-pthread",
];

impl Sources {
    /// Compiles the kernels and the emulator into a shared object, or finds the one that has been compiled before.
    ///
    /// `more` are further files of a library that wraps the emulator, names and texts, among them any number of `.cpp`
    /// units; they may include `emulator.hpp`.
    pub fn compile(&self, more: &[(&str, &str)]) -> Result<PathBuf, CompileError> {
        let compiler = Compiler::of_this_machine();
        let mut files = HEADERS.to_vec();
        files.extend(RUNTIME);
        let runtime = compiler.make(&files, &["-c"], "o")?;

        let unity = self.unity();
        let mut files = HEADERS.to_vec();
        files.extend(self.files());
        files.push(("unity.cpp", &unity));
        files.extend_from_slice(more);
        let runtime = runtime.to_string_lossy();
        compiler.make(&files, &["-shared", &runtime], "so")
    }

    /// One file that includes all kernels and lists their entry points.
    fn unity(&self) -> String {
        let mut text = String::from("#include \"shim.hpp\"\n");
        for (name, _) in self.files().filter(|(name, _)| has_extension(name, "cu")) {
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

/// The system's C++ compiler, and where what it makes is kept.
struct Compiler {
    program: OsString,
    flags: Vec<&'static str>,
    cache: PathBuf,
}

impl Compiler {
    fn of_this_machine() -> Self {
        let mut flags = FLAGS.to_vec();
        // Fused multiply-add in hardware where there is; else the C library's, which is as exact.
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("fma") {
            flags.push("-mfma");
        }
        // Warnings are refused where the project is checked; another compiler's new ones should not stop a user's tests.
        if std::env::var_os("CI").is_some() {
            flags.push("-Werror");
        }
        // Beside the test that runs, so that cleaning the build cleans this too.
        let test = std::env::current_exe().unwrap_or_default();
        let directory = test.parent().map_or_else(std::env::temp_dir, Path::to_path_buf);
        Self {
            program: std::env::var_os("CXX").unwrap_or_else(|| "c++".into()),
            flags,
            cache: directory.join("tadpole-emulator"),
        }
    }

    /// Compiles the `.cpp` files among `files`, or finds what the same call has made before.
    fn make(&self, files: &[(&str, &str)], flags: &[&str], extension: &str) -> Result<PathBuf, CompileError> {
        /// Tells apart what is being made at the same time.
        static MADE: AtomicU32 = AtomicU32::new(0);

        let product = self.cache.join(format!("{}.{extension}", self.key(files, flags)));
        if product.exists() {
            return Ok(product);
        }
        let fault = |path: &Path| {
            let path = path.to_owned();
            move |error| CompileError::File { path, error }
        };
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let bench = self.cache.join(format!("bench.{}.{made}", std::process::id()));
        fs::create_dir_all(&bench).map_err(fault(&bench))?;
        for (name, text) in files {
            let path = bench.join(name);
            fs::write(&path, text).map_err(fault(&path))?;
        }
        let units = files.iter().map(|&(name, _)| name).filter(|name| has_extension(name, "cpp"));
        let mut command = Command::new(&self.program);
        command.current_dir(&bench).args(&self.flags).args(units).args(flags).args(["-o", "product"]);
        let output = command.output();
        let output =
            output.map_err(|error| CompileError::Compiler { compiler: self.program.clone(), error })?;
        let refused = !output.status.success();
        if !refused {
            // Several may make the same at once: the last one stays, and all are alike.
            fs::rename(bench.join("product"), &product).map_err(fault(&product))?;
        }
        fs::remove_dir_all(&bench).map_err(fault(&bench))?;
        if refused {
            return Err(CompileError::Refused(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        Ok(product)
    }

    /// Names what a call makes, by everything that goes into it.
    fn key(&self, files: &[(&str, &str)], flags: &[&str]) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(self.program.as_encoded_bytes());
        self.flags.iter().chain(flags).for_each(|flag| part(flag.as_bytes()));
        for (name, text) in files {
            part(name.as_bytes());
            part(text.as_bytes());
        }
        hasher.finalize().to_hex()[..24].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_compiler_is_told_what_to_install() {
        let program = OsString::from("a-compiler-that-is-not-there");
        let compiler = Compiler { program, ..Compiler::of_this_machine() };
        let error = compiler.make(&[("a.cpp", "")], &["-c"], "o").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("a-compiler-that-is-not-there") && text.contains("install g++"), "{text}");
    }

    #[test]
    fn text_that_does_not_compile_is_refused_with_the_compilers_words() {
        let error =
            Compiler::of_this_machine().make(&[("a.cpp", "no such thing;")], &["-c"], "o").unwrap_err();
        assert!(matches!(&error, CompileError::Refused(text) if text.contains("a.cpp:1")), "{error}");
    }
}
