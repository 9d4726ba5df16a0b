//! Where tests put what they make: below the target directory, one holder at a time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The directory of the profile that the running test or program was built with: `<target>/<profile>`.
///
/// # Panics
/// Where it does not lie in a target directory.
pub fn profile_directory() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let directory = program.parent().expect("a program lies in a directory");
    // Tests lie one deeper.
    let profile = if directory.ends_with("deps") { directory.parent() } else { Some(directory) };
    profile.expect("a test lies in <target>/<profile>/deps").to_path_buf()
}

/// The root of the workspace.
///
/// # Panics
/// Never: this crate lies in it.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace")
}

/// A directory that one process holds at a time; others wait until it ends.
#[derive(Debug)]
pub struct Held {
    /// The directory. It exists.
    pub directory: PathBuf,
    _lock: File,
}

/// Takes `<target>/tmp/tadpole/<name>`, with whatever an earlier holder left there.
///
/// # Panics
/// Where it cannot be made.
pub fn hold(name: &str) -> Held {
    let parent = profile_directory().join("../tmp/tadpole");
    fs::create_dir_all(&parent).unwrap();
    let lock = File::create(parent.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let directory = parent.canonicalize().unwrap().join(name);
    fs::create_dir_all(&directory).unwrap();
    Held { directory, _lock: lock }
}
