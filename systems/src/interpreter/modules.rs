//! Where modules come from: files, by Python's rules for packages.

use std::borrow::Cow;

/// The files a session can import.
pub trait Sources {
    /// The bytes of the file at `path` (relative to the root, `/` between parts), links followed.
    fn read(&self, path: &str) -> Option<Cow<'_, [u8]>>;

    /// Whether `path` is a directory.
    fn is_dir(&self, path: &str) -> bool;
}

/// The path of the `pytest` module that a project without one gets.
pub(super) const PYTEST_PATH: &str = "<pytest>";

/// Its source: `raises`, `approx`, `skip`, `fail` and the marks `skip`, `skipif` and `parametrize` (as one test).
pub(super) const PYTEST_SOURCE: &[u8] = include_bytes!("pytest.py");

/// The file or directory that a dotted module name names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A module's file, or a package's `__init__.py`.
    File(String),
    /// A package without an `__init__.py`.
    Directory(String),
}

impl Found {
    /// The path that identifies the module.
    pub(super) fn path(&self) -> &str {
        match self {
            Self::File(path) | Self::Directory(path) => path,
        }
    }
}

/// Finds `name` (dotted, absolute) in the directories of `search`.
pub(super) fn find(sources: &dyn Sources, search: &[String], name: &str) -> Option<Found> {
    if name.is_empty() || name.split('.').any(str::is_empty) {
        return None;
    }
    let found = search.iter().find_map(|directory| find_in(sources, directory, name));
    found.or_else(|| (name == "pytest").then(|| Found::File(PYTEST_PATH.to_owned())))
}

/// Finds `name` below one directory.
pub(super) fn find_in(sources: &dyn Sources, directory: &str, name: &str) -> Option<Found> {
    let base = join(directory, &name.replace('.', "/"));
    let package = join(&base, "__init__.py");
    let file = format!("{base}.py");
    if sources.read(&package).is_some() {
        Some(Found::File(package))
    } else if sources.read(&file).is_some() {
        Some(Found::File(file))
    } else if sources.is_dir(&base) {
        Some(Found::Directory(base))
    } else {
        None
    }
}

/// `directory/name`, or `name` at the root.
pub(super) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

/// The directory of `path`; `""` is the root.
pub(super) fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// The dotted name a file has when it is imported from the root: `a/b.py` is `a.b`.
pub(super) fn dotted(path: &str) -> String {
    let stem = path.strip_suffix(".py").unwrap_or(path);
    let stem = stem.strip_suffix("/__init__").unwrap_or(stem);
    stem.replace('/', ".")
}
