#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::*;

/// Files by path.
struct Files(BTreeMap<&'static str, &'static str>);

impl Sources for Files {
    fn read(&self, path: &str) -> Option<Cow<'_, [u8]>> {
        self.0.get(path).map(|text| Cow::Borrowed(text.as_bytes()))
    }

    fn is_dir(&self, path: &str) -> bool {
        self.0.keys().any(|file| file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
    }
}

/// Runs a main program over `files`; what it prints, or how it fails.
#[track_caller]
fn check(files: &[(&'static str, &'static str)], main: &str, expected: &str) {
    let files = Files(files.iter().copied().collect());
    let mut session = Monty.session(&files, &[String::new()], Budget::default());
    let result = session.run_main("main.py", main.as_bytes(), &["main.py".to_owned()]);
    let mut text = String::from_utf8(session.take_output()).unwrap();
    if let Err(fault) = result {
        text.push_str(&fault.report());
    }
    assert_eq!(text, expected);
}

#[test]
fn modules_do_not_share_names() {
    let files = [
        ("a.py", "def f(): return helper()\ndef helper(): return 'a'\ndef sum(xs): return 'a.sum'\n"),
        ("b.py", "def f(): return helper()\ndef helper(): return 'b'\ndef total(xs): return sum(xs)\n"),
    ];
    check(
        &files,
        "from a import f, sum as s\nfrom b import f as g, total\nprint(f(), g(), s([]), total([1, 2]))",
        "a b a.sum 3\n",
    );
    check(&files, "import a\nimport b as bb\nprint(a.f(), bb.f(), a.sum(0), sum([1]))", "a b a.sum 1\n");
}

#[test]
fn names_of_other_modules_are_not_visible_without_an_import() {
    let files = [
        ("a.py", "import math\ndef helper(): return 1\n"),
        ("b.py", "def f(): return helper()\ndef g(): return math.floor(1.5)\n"),
    ];
    let head = "Traceback (most recent call last):\n";
    check(
        &files,
        "from a import helper\nfrom b import f\nf()",
        &format!(
            "{head}  File \"main.py\", line 3, in <module>\n    f()\n  File \"b.py\", line 1, in f\n    def f(): return helper()\nNameError: name 'helper' is not defined\n"
        ),
    );
    check(
        &files,
        "from a import helper\nfrom b import g\ng()",
        &format!(
            "{head}  File \"main.py\", line 3, in <module>\n    g()\n  File \"b.py\", line 2, in g\n    def g(): return math.floor(1.5)\nNameError: name 'math' is not defined\n"
        ),
    );
}

#[test]
fn scopes_are_those_of_python() {
    let files = [("a.py", "x = 1\ny = 2\ndef bump():\n    global x\n    x += 1\n    return x\n")];
    let main = "
from a import bump, y
x = 10
def f(y):
    x = 5
    g = lambda x: x + y
    return [x for x in range(2)], g(1), x
def outer():
    n = 0
    def inner():
        nonlocal n
        n += 1
        return n
    inner()
    return inner()
class C:
    x = 7
    def m(self):
        return x, self.x
try:
    1 / 0
except ZeroDivisionError as y2:
    print(y2)
print(f(3), outer(), C().m(), bump(), x, {k: v for k, v in [(x, y)]}, (z := 4), z, f'{x}')
def local_import():
    from a import y as w
    import a
    return w, a.y
print(local_import())
";
    check(&files, main, "division by zero\n([0, 1], 4, 5) 2 (10, 7) 2 10 {10: 2} 4 4 10\n(2, 2)\n");
}

#[test]
fn packages_relative_imports_and_stars_work() {
    let files = [
        ("pkg/__init__.py", "from .core import run\nVERSION = '1'\n"),
        (
            "pkg/core.py",
            "from . import util\nfrom .util import *\ndef run(): return util.twice(3), twice(4)\n",
        ),
        ("pkg/util.py", "def twice(x): return 2 * x\ndef _hidden(): return 0\n"),
        ("plain/leaf.py", "def f(): return 'leaf'\n"),
    ];
    check(
        &files,
        "import pkg\nimport pkg.util\nfrom pkg import run, core\nimport plain.leaf\nprint(run(), pkg.VERSION, pkg.util.twice(1), core.run(), plain.leaf.f())",
        "(6, 8) 1 2 (6, 8) leaf\n",
    );
    check(
        &files,
        "from pkg.util import (\n    twice,\n    nothing,\n)\n",
        "Traceback (most recent call last):\n  File \"main.py\", line 1, in <module>\n    from pkg.util import (\nImportError: cannot import name 'nothing' from 'pkg.util' (pkg/util.py)\n",
    );
}

#[test]
fn cycles_and_missing_modules_fail_as_in_python() {
    let files =
        [("a.py", "from b import g\ndef f(): return 1\n"), ("b.py", "from a import f\ndef g(): return 2\n")];
    check(
        &files,
        "import a",
        "Traceback (most recent call last):\n  File \"b.py\", line 1, in <module>\n    from a import f\nImportError: cannot import name 'f' from partially initialized module 'a' (most likely due to a circular import) (a.py)\n",
    );
    check(
        &[],
        "try:\n    import nothing\nexcept ImportError as e:\n    print(e)\n",
        "No module named 'nothing'\n",
    );
    check(
        &[("a.py", "x = (\n")],
        "import a",
        "  File \"a.py\", line 2\nSyntaxError: unexpected EOF while parsing\n",
    );
}

#[test]
fn main_programs_have_a_name_arguments_and_an_exit() {
    check(&[], "import sys\nif __name__ == '__main__':\n    print(sys.argv)", "['main.py']\n");
    check(
        &[],
        "import sys\nsys.exit(3)",
        "Traceback (most recent call last):\n  File \"main.py\", line 2, in <module>\n    sys.exit(3)\nSystemExit: 3\n",
    );
}

#[test]
fn the_pytest_module_is_there() {
    let main = "
import pytest
with pytest.raises(ValueError, match='bad'):
    raise ValueError('so bad')
assert 0.1 + 0.2 == pytest.approx(0.3)
@pytest.mark.parametrize('a,b', [(1, 1), (2, 2)])
def test_same(a, b):
    print(a, b)
test_same()
with pytest.raises(KeyError):
    pass
";
    let fault = "Traceback (most recent call last):\n  File \"main.py\", line 11, in <module>\n    pass\n";
    let files = Files(BTreeMap::new());
    let mut session = Monty.session(&files, &[String::new()], Budget::default());
    let result = session.run_main("main.py", main.as_bytes(), &[]);
    assert_eq!(String::from_utf8(session.take_output()).unwrap(), "1 1\n2 2\n");
    let Err(Fault::Raised(raised)) = result else { panic!("{result:?} {fault}") };
    assert!(raised.summary().starts_with("AssertionError: DID NOT RAISE"), "{}", raised.summary());
}

/// Runs a program with a small budget; how it is stopped.
#[track_caller]
fn check_stop(program: &str, expected: Option<Stop>) {
    let files = Files(BTreeMap::new());
    let budget = Budget { fuel: 2_000, wall: Duration::from_millis(300), ..Budget::default() };
    let mut session = Monty.session(&files, &[], budget);
    let stop = match session.run_main("main.py", program.as_bytes(), &[]) {
        Err(Fault::Stopped(stop)) => Some(stop),
        _ => None,
    };
    assert_eq!(stop, expected, "{program}");
    if stop.is_some() {
        assert_eq!(
            session.evaluate(None, "1"),
            Err(Fault::Stopped(Stop::Aborted)),
            "a stopped session is spent"
        );
        session.reset();
        assert_eq!(session.evaluate(None, "1 + 1"), Ok("2".to_owned()));
    }
}

#[test]
fn whatever_a_program_does_it_ends_in_a_typed_way() {
    check_stop("while True: pass", Some(Stop::OutOfFuel));
    check_stop(
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        Some(Stop::OutOfFuel),
    );
    check_stop("def f(): return f()\nf()", None);
    check_stop("sum(range(10**12))", Some(Stop::Watchdog));
    check_stop("x = 'a' * 10**10", Some(Stop::OutOfMemory));
    check_stop("x = 1 << 10**10", Some(Stop::OutOfMemory));
    check_stop(&format!("x = {}1{}", "(".repeat(100_000), ")".repeat(100_000)), None);
}

#[test]
fn the_same_fuel_always_ends_at_the_same_place() {
    let files = Files(BTreeMap::new());
    let run = |fuel| {
        let mut session = Monty.session(&files, &[], Budget { fuel, ..Budget::default() });
        let result = session.run_main("main.py", b"n = 0\nwhile True:\n    n += 1\n    print(n)", &[]);
        assert_eq!(result, Err(Fault::Stopped(Stop::OutOfFuel)));
        session.take_output()
    };
    for fuel in [0, 1, 10, 100] {
        assert_eq!(run(fuel), run(fuel));
    }
    assert!(run(10).len() < run(20).len());
}
