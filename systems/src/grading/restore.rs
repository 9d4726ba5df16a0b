//! The tree that is graded: the agent's, with everything that decides how tests run put back.

use tadpole_scenarios::repository::{Entry, Tree};

use super::Hidden;

/// A tree ready for the hidden tests' run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The tree.
    pub tree: Tree,
    /// Whether the agent had changed what was put back. New tests of its own are no tampering, though they do not run.
    pub tampered: bool,
}

/// Puts back what decides how tests run, in a copy of `now`, and lays the hidden tests over it.
///
/// Put back are test files and everything in test directories, configuration of test runners and start-up hooks, and new
/// modules that would be imported in place of the test runner or the standard library; files that gold itself rewrites
/// stay as the agent left them.
pub fn restore(hidden: &Hidden<'_>, now: &Tree) -> Restored {
    let mut change = Tree::new();
    let mut tampered = false;
    for (path, entry) in hidden.base.diff(now).iter().filter(|(path, _)| !hidden.gold.contains(path)) {
        let before = hidden.base.get(path);
        let kind = Kind::of(path);
        let shadow = before.is_none() && shadows(path);
        if kind == Kind::Source && !shadow {
            continue;
        }
        tampered |= before.is_some() || kind == Kind::Configuration || shadow;
        let back = before.cloned().unwrap_or(Entry::Absent);
        debug_assert_ne!(&back, entry, "a difference holds what differs");
        // Paths of a difference are paths of trees, and an entry that is put back fits where it stood.
        if change.insert(path, back).is_err() {
            tampered = true;
        }
    }
    Restored { tree: now.overlaid(&change).overlaid(hidden.tests), tampered }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Source,
    Test,
    Configuration,
}

impl Kind {
    fn of(path: &str) -> Self {
        let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
        let configuration = matches!(
            name,
            "conftest.py"
                | "pytest.ini"
                | ".pytest.ini"
                | "pytest.toml"
                | ".pytest.toml"
                | "tox.ini"
                | "setup.cfg"
                | "pyproject.toml"
                | "sitecustomize.py"
                | "usercustomize.py"
        ) || has_extension(name, "pth");
        let stem = name.strip_suffix(".py").unwrap_or_default();
        let test_file = stem.starts_with("test_") || stem.ends_with("_test");
        // A link or file may stand where a test directory stood.
        let test_directory =
            directories.split('/').chain([name]).any(|part| matches!(part, "test" | "tests"));
        match (configuration, test_file || test_directory) {
            (true, _) => Self::Configuration,
            (false, true) => Self::Test,
            (false, false) => Self::Source,
        }
    }
}

fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, found)| found == extension)
}

/// Whether a new file at `path` would be imported in place of a module that tests or their runner rely on.
fn shadows(path: &str) -> bool {
    let top = path.split('/').next().unwrap_or_default();
    let module = top.strip_suffix(".py").unwrap_or(top);
    (top != path || top != module) && RESERVED.contains(&module)
}

/// Test runners and the modules of the standard library that they and tests import.
const RESERVED: &[&str] = &[
    "__future__",
    "_pytest",
    "abc",
    "argparse",
    "ast",
    "asyncio",
    "base64",
    "bisect",
    "builtins",
    "codecs",
    "collections",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "doctest",
    "enum",
    "fractions",
    "functools",
    "gc",
    "glob",
    "hashlib",
    "heapq",
    "importlib",
    "inspect",
    "io",
    "itertools",
    "json",
    "linecache",
    "locale",
    "logging",
    "math",
    "nose",
    "numbers",
    "operator",
    "os",
    "pathlib",
    "pickle",
    "platform",
    "pluggy",
    "py",
    "pytest",
    "random",
    "re",
    "shutil",
    "signal",
    "site",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "sys",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "tokenize",
    "traceback",
    "types",
    "typing",
    "unittest",
    "uuid",
    "warnings",
    "weakref",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        Tree::from_files(files.iter().copied()).unwrap()
    }

    fn base() -> Tree {
        tree(&[("a.py", "1"), ("tests/test_a.py", "visible"), ("setup.cfg", "x")])
    }

    fn check(now: &[(&str, &str)], expected: &[(&str, &str)], tampered: bool) {
        let (base, tests, gold) = (base(), tree(&[("tests/test_a.py", "hidden")]), tree(&[("a.py", "2")]));
        let hidden = Hidden { base: &base, tests: &tests, gold: &gold, fail_to_pass: &[], pass_to_pass: &[] };
        let restored = restore(&hidden, &tree(now));
        assert_eq!(restored, Restored { tree: tree(expected), tampered }, "{now:?}");
    }

    const GRADED: &[(&str, &str)] = &[("a.py", "2"), ("setup.cfg", "x"), ("tests/test_a.py", "hidden")];

    #[test]
    fn the_agents_sources_stay_and_its_tests_are_overwritten() {
        check(&[("a.py", "2"), ("setup.cfg", "x"), ("tests/test_a.py", "visible")], GRADED, false);
        check(&[("a.py", "2"), ("setup.cfg", "x"), ("tests/test_a.py", "assert True")], GRADED, true);
        check(&[("a.py", "2"), ("setup.cfg", "x")], GRADED, true);
        check(&[("a.py", "2"), ("setup.cfg", "x"), ("tests", "not a directory")], GRADED, true);
    }

    #[test]
    fn new_tests_are_no_tampering() {
        let now =
            [("a.py", "2"), ("setup.cfg", "x"), ("tests/test_a.py", "visible"), ("tests/test_b.py", "own")];
        check(&now, GRADED, false);
    }

    #[test]
    fn hooks_configuration_and_shadows_are_neutralised() {
        let clean = [("a.py", "2"), ("setup.cfg", "x"), ("tests/test_a.py", "visible")];
        for path in [
            "conftest.py",
            "tests/conftest.py",
            "pytest.ini",
            "x.pth",
            "sitecustomize.py",
            "pytest.py",
            "math/__init__.py",
        ] {
            let mut now = clean.to_vec();
            now.push((path, "hook"));
            check(&now, GRADED, true);
        }
        check(&[("a.py", "2"), ("setup.cfg", "y"), ("tests/test_a.py", "visible")], GRADED, true);
    }

    #[test]
    fn what_gold_rewrites_is_not_restored() {
        let (base, tests) = (base(), tree(&[("tests/test_a.py", "hidden")]));
        let gold = tree(&[("setup.cfg", "z")]);
        let hidden = Hidden { base: &base, tests: &tests, gold: &gold, fail_to_pass: &[], pass_to_pass: &[] };
        let restored = restore(&hidden, &base.overlaid(&gold));
        assert_eq!(restored.tree.text("setup.cfg"), Some("z"));
        assert!(!restored.tampered);
    }

    #[test]
    fn an_ordinary_new_module_is_the_agents_own() {
        let now = [
            ("a.py", "2"),
            ("setup.cfg", "x"),
            ("tests/test_a.py", "visible"),
            ("mathx.py", "3"),
            ("lib/math.py", "4"),
        ];
        let mut expected = GRADED.to_vec();
        expected.extend([("mathx.py", "3"), ("lib/math.py", "4")]);
        check(&now, &expected, false);
    }
}
