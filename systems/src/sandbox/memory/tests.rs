#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use super::*;
use crate::sandbox::{BashOutcome, TestReport, TestStatus, Verdict};
use tadpole_scenarios::repository::Entry;

const BOUNDS: &str = "def clamp(x, low, high):\n    if x < low:\n        return low\n    return x\n";
const TEST_BOUNDS: &str = "from bounds import clamp\n\ndef test_high():\n    assert clamp(5, 0, 3) == 3\n\ndef test_low():\n    assert clamp(-1, 0, 3) == 0\n";

fn tree_of(files: &[(&str, &str)]) -> Tree {
    let mut tree = Tree::new();
    for (path, text) in files {
        tree.insert_file(path, *text).unwrap();
    }
    tree
}

fn project() -> Tree {
    tree_of(&[("bounds.py", BOUNDS), ("tests/test_bounds.py", TEST_BOUNDS)])
}

fn bash_in(tree: &Tree, command: &str) -> BashOutcome {
    shell::run(tree, command, &Limits::default())
}

/// Runs a command in the project: its exit code and output, standard error after `---`.
#[track_caller]
fn check(command: &str, exit_code: i32, expected: &str) {
    let outcome = bash_in(&project(), command);
    let mut text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    if !outcome.stderr.is_empty() {
        text.push_str("---\n");
        text.push_str(&String::from_utf8_lossy(&outcome.stderr));
    }
    assert_eq!((outcome.exit_code, text.as_str()), (exit_code, expected), "{command}");
}

#[test]
fn the_everyday_commands_work() {
    check("ls", 0, "bounds.py\ntests\n");
    check("ls tests; pwd", 0, "test_bounds.py\n/repo\n");
    check("cat bounds.py | head -2", 0, "def clamp(x, low, high):\n    if x < low:\n");
    check(
        "grep -n low bounds.py",
        0,
        "1:def clamp(x, low, high):\n2:    if x < low:\n3:        return low\n",
    );
    check(
        "grep -rn 'def ' .",
        0,
        "./bounds.py:1:def clamp(x, low, high):\n./tests/test_bounds.py:3:def test_high():\n./tests/test_bounds.py:6:def test_low():\n",
    );
    check("sed -n 2,3p bounds.py", 0, "    if x < low:\n        return low\n");
    check("find . -name '*.py' | sort | xargs wc -l | tail -1", 0, " 11 total\n");
    check("for i in 1 2; do echo $((i * 2)); done; false", 1, "2\n4\n");
    check("git status", 127, "---\nbash: line 1: git: command not found\n");
    check(
        "if then",
        2,
        "---\nbash: line 1: syntax error near unexpected token `then'\nbash: line 1: `if then'\n",
    );
}

#[test]
fn python_runs_code_scripts_modules_and_input() {
    check("python -c 'from bounds import clamp; print(clamp(1, 2, 3))'", 0, "2\n");
    check("python3 --version", 0, "Python 3.14.0\n");
    check("echo 'import sys; print(sys.argv); sys.exit(4)' > s.py; python s.py a", 4, "['s.py', 'a']\n");
    check("echo 'print(1)' | python -", 0, "1\n");
    check("python <<'E'\nprint(2)\nE", 0, "2\n");
    check("python -m bounds; python -m nothing", 1, "---\n/usr/bin/python: No module named nothing\n");
    check(
        "python nope.py",
        2,
        "---\npython: can't open file 'nope.py': [Errno 2] No such file or directory\n",
    );
    check(
        "python -c 'x = 1/0'",
        1,
        "---\nTraceback (most recent call last):\n  File \"<string>\", line 1, in <module>\n    x = 1/0\nZeroDivisionError: division by zero\n",
    );
    check("cd /tmp; echo 'from bounds import clamp; print(clamp(9, 0, 1))' > t.py; python t.py", 0, "9\n");
}

#[test]
fn pytest_says_what_failed_with_both_values() {
    let expected = "FAILED tests/test_bounds.py::test_high\n>   assert clamp(5, 0, 3) == 3\nE   assert 5 == 3\n1 failed, 1 passed\n";
    for command in [
        "pytest",
        "pytest -q",
        "python -m pytest",
        "python3 -m pytest tests/",
        "cd tests && pytest -q test_bounds.py",
    ] {
        check(command, 1, expected);
    }
    check("pytest -x --tb=no", 1, "1 failed\n");
    check(
        "pytest tests/test_bounds.py::test_low -v",
        0,
        "tests/test_bounds.py::test_low PASSED\n1 passed, 1 deselected\n",
    );
    check("pytest -k 'low and not high'", 0, "1 passed, 1 deselected\n");
    check("pytest -k nothing", 5, "2 deselected\n");
    check("pytest nope.py", 4, "---\nERROR: file or directory not found: nope.py\n");
    check("pytest --frob", 4, "---\nERROR: unrecognized arguments: --frob\n");
    check(
        "sed -i 's/clamp(x/clam(x/' bounds.py; pytest",
        2,
        "ERROR tests/test_bounds.py\n>   from bounds import clamp\nE   ImportError: cannot import name 'clamp' from 'bounds' (bounds.py)\n1 error\n",
    );
}

#[test]
fn what_ran_is_reported_apart_from_what_was_printed() {
    let outcome = bash_in(&project(), "pytest | tail -1; echo done");
    assert_eq!(outcome.exit_code, 0);
    let report = outcome.ran_tests.unwrap();
    assert_eq!(report.status("tests/test_bounds.py::test_low"), Some(&TestStatus::Passed));
    assert_eq!(report.passed(), 1);
    let outcome = bash_in(&project(), "echo '2 passed'");
    assert_eq!(outcome.ran_tests, None, "a text that looks like a test run is none");
}

#[test]
fn only_changed_paths_come_back() {
    let outcome = bash_in(
        &project(),
        "sed -i 's/return x/return min(x, high)/' bounds.py; echo hi > n.txt; rm -r tests; mkdir empty; ln -s bounds.py l; touch /tmp/x",
    );
    assert_eq!(String::from_utf8_lossy(&outcome.stderr), "");
    let paths: Vec<&str> = outcome.changed.paths().collect();
    assert_eq!(paths, ["bounds.py", "l", "n.txt", "tests/test_bounds.py"]);
    assert_eq!(outcome.changed.get("tests/test_bounds.py"), Some(&Entry::Absent));
    assert_eq!(outcome.changed.text("bounds.py").unwrap(), BOUNDS.replace("return x", "return min(x, high)"));
    assert!(bash_in(&project(), "pytest; cat bounds.py > /dev/null").changed.is_empty());
}

#[test]
fn bytes_and_modes_survive() {
    let mut tree = project();
    tree.insert("run", Entry::File { bytes: b"#!/bin/sh\r\nold\t1\r\n".to_vec(), mode: 0o755 }).unwrap();
    let outcome = bash_in(&tree, "sed -i 's/old/new/' run; printf 'ok\\xff\\n'; cp run copy");
    assert_eq!(outcome.stdout, b"ok\xff\n");
    for path in ["run", "copy"] {
        let Some(Entry::File { mode, .. }) = outcome.changed.get(path) else { panic!("{path} is no file") };
        assert_eq!(*mode, 0o755, "{path}");
        assert_eq!(outcome.changed.file(path).unwrap(), b"#!/bin/sh\r\nnew\t1\r\n", "{path}");
    }
    let mut tree = Tree::new();
    tree.insert_file("bin", b"\xff\0\n".to_vec()).unwrap();
    assert_eq!(bash_in(&tree, "cp bin copy; cat bin").changed.file("copy").unwrap(), b"\xff\0\n");
}

#[test]
fn a_command_that_never_ends_is_stopped_with_a_verdict() {
    for (command, verdict) in [
        ("while :; do :; done", Verdict::OutOfFuel),
        (":(){ :|:& };:", Verdict::OutOfFuel),
        ("f() { f; }; f", Verdict::OutOfFuel),
        ("python -c 'while True: pass'", Verdict::OutOfFuel),
        ("python -c 'x = \"a\" * 10**10'", Verdict::OutOfMemory),
        ("python -c 'def f(): return f()\nf()'", Verdict::Completed),
        ("sleep 300 & sleep 300", Verdict::Completed),
        ("nohup sleep 60 &", Verdict::Completed),
    ] {
        let outcome = bash_in(&project(), command);
        assert_eq!(outcome.verdict, verdict, "{command}: {outcome:?}");
        if verdict != Verdict::Completed {
            assert_eq!(outcome.exit_code, verdict.exit_code());
            assert_eq!(String::from_utf8(outcome.stderr).unwrap(), format!("{}\n", verdict.text()));
        }
    }
}

#[test]
fn output_files_and_disk_are_bounded() {
    let limits = Limits { output_bytes: 1_000, files: 40, disk_bytes: 10_000, ..Limits::default() };
    let run = |command: &str| shell::run(&project(), command, &limits);
    assert!(run("for i in 1 2 3 4 5 6 7 8 9; do seq 100; done").stdout.len() <= 1_000);
    assert!(run("python -c 'for i in range(10000): print(i)'").stdout.len() <= 1_000);
    let full = run("seq 10000 > f; echo $?");
    assert!(String::from_utf8_lossy(&full.stderr).contains("No space left"), "{full:?}");
    let many = run("for i in $(seq 100); do : > f$i; done");
    assert!(many.changed.len() < 40);
    // The classic that fills a disk.
    let yes = bash_in(&project(), "yes > f");
    assert!(yes.changed.file("f").is_none_or(|bytes| bytes.len() < 1 << 20));
}

#[test]
fn a_text_split_between_chunks_stays_whole() {
    let outcome = bash_in(&project(), "python -c \"print('a' * 49151 + '\\u2603')\"");
    assert_eq!(outcome.stdout.len(), 49_151 + 3 + 1);
    assert!(String::from_utf8(outcome.stdout).unwrap().ends_with("☃\n"));
}

/// Commands that show time, entropy, order or identity on a real machine.
pub(super) const NASTY: &[&str] = &[
    "echo $RANDOM $RANDOM $SECONDS $EPOCHSECONDS $EPOCHREALTIME $$ $BASHPID $PPID $UID $LINENO",
    "x=SRAN; y=$x'DOM'; echo ${!y}; eval \"echo \\$$y\"; declare -n z=$y; echo $z; (echo ${!y}); echo $((y))",
    "x=SRAN; bash -c \"echo \\$${x}DOM\"; sh -ec \"echo \\$${x}DOM \\$RANDOM\"; env bash -c \"echo \\$${x}DOM\"; echo \"echo \\$${x}DOM\" | xargs -I% bash -c %",
    "sort -nR bounds.py; sort -k1,1R bounds.py; sort -k 1R bounds.py; sort --sort=random - < bounds.py; sort -ru bounds.py",
    "date; date +%s%N; printf '%(%s)T\\n' -1; sleep 3; echo $SECONDS; date",
    "time sleep 2; time -p true; TIMEFORMAT='%3R %3U'; time sleep 1; times",
    "timeout 1 sleep 5; echo $?",
    "mktemp; mktemp -d; shuf -i 1-9; sort -R bounds.py; sort --random-sort bounds.py; uuidgen; openssl rand -hex 4",
    "head -c 8 /dev/urandom | od -x; head -c 8 /dev/random | od -x; dd if=/dev/urandom count=1 2>&1 | od -x",
    "cat /proc/uptime /proc/sys/kernel/random/uuid /proc/self/stat /etc/passwd /etc/hostname",
    "ls -laR / ; ls -la --time-style=full-iso; stat bounds.py; find / -newer bounds.py -printf '%p %t\\n'",
    "touch a; sleep 1; touch b; ls -t; [ b -nt a ] && echo newer; stat -c '%Y %y' a b; touch -d '1 hour ago' c; ls -l c",
    "set; env; export -p; declare -p; declare -F; alias; compgen -v; printenv",
    "declare -A m; for i in a b c d e f g h i j k l; do m[$i]=$i; done; echo ${!m[@]} ${m[@]}; declare -p m",
    "a=1 b=2 c=3 d=4 e=5; echo ${!a*} ${!B*}; set | grep -v _",
    "awk 'BEGIN { srand(); print rand(), srand(), systime(); for (k in ENVIRON) print k; a[\"x\"]; a[\"y\"]; a[\"z\"]; a[\"w\"]; for (k in a) print k }'",
    "for i in 1 2 3 4 5; do echo $i & done; wait; jobs; echo $!",
    "(echo a; sleep 1; echo b) & (echo c; sleep 1; echo d); wait",
    "echo a | tee x y > z & cat <(echo 1) <(echo 2); wait; cat x y z",
    "seq 5 | xargs -P 4 -n 1 echo; parallel echo ::: 1 2 3",
    "bash -c 'echo $RANDOM $$ $SECONDS'; echo 'echo $RANDOM' > s.sh; bash s.sh; chmod +x s.sh; ./s.sh; . ./s.sh",
    "hostname; whoami; id; uname -a; nproc; tty; uptime; free; df; ps; who; ulimit -a; umask; locale; getconf -a",
    "python -c 'print(id(object), hash(\"a\"), {\"b\", \"a\", 3}, print, object())'",
    "python -c 'import datetime; print(datetime.datetime.now())'; python -c 'import time; print(time.time())'",
    "python -c 'import os; print(os.environ, os.getcwd())'; python -c 'import random; print(random.random())'",
    "python -c 'f = lambda: 0; print(f, [f], repr(f)); class_ = type(f); print(class_)'",
    "tar cf t.tar bounds.py; gzip -k bounds.py; zip z.zip bounds.py; md5sum t.tar bounds.py.gz z.zip",
    "trap 'echo bye $SECONDS' EXIT; kill -0 $$; echo $?; help | head; history; fc -l; hash; type ls; which ls",
    "diff -u bounds.py tests/test_bounds.py; cp bounds.py b2.py; diff -u bounds.py b2.py; patch --version; make --version",
    "while :; do echo x; done | head -1; yes | head -3; seq 100000 | sort | uniq | wc -l",
];

#[test]
fn nothing_that_differs_between_runs_can_be_observed() {
    let limits = Limits::default();
    let differing: Vec<String> = NASTY
        .iter()
        .filter_map(|command| {
            // Hash maps get other seeds each time.
            let first = shell::run(&project(), command, &limits);
            let mut rounds = (0..4).map(|_| shell::run(&project(), command, &limits));
            let other = rounds.find(|outcome| *outcome != first)?;
            let text = |outcome: &BashOutcome| {
                format!(
                    "{}{}",
                    String::from_utf8_lossy(&outcome.stdout),
                    String::from_utf8_lossy(&outcome.stderr)
                )
            };
            Some(format!("{command}\n{}\n{}", text(&first), text(&other)))
        })
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn entropy_by_name_is_refused() {
    check("unset -n SRANDOM; echo $SRANDOM", 1, "---\nbash: SRANDOM: not available in this sandbox\n");
    let tree = tree_of(&[("s.sh", "echo $SRANDOM\n")]);
    assert_eq!(bash_in(&tree, "./s.sh").exit_code, 1);
}

fn report_of(files: &[(&str, &str)], tests: &[&str]) -> TestReport {
    let names: Vec<String> = tests.iter().map(|&name| name.to_owned()).collect();
    test(&tree_of(files), &names, &Limits::default())
}

#[test]
fn each_test_has_its_own_fate() {
    let text = "
import pytest
from m import f
class TestC:
    def test_m(self):
        assert f(1) == 2
    def test_n(self):
        assert f(1) == 1, 'not so'
def test_loop():
    while True: pass
def test_after_the_stop():
    assert f(2) == 3
@pytest.mark.skip(reason='later')
def test_skipped():
    assert False
def test_fixture(tmp_path):
    pass
def test_deep():
    f(None)
def helper(): pass
";
    let report = report_of(&[("m.py", "def f(x):\n    return x + 1\n"), ("test_m.py", text)], &["test_m.py"]);
    let failed = |message: &str| TestStatus::Failed { message: message.to_owned() };
    let expected = [
        ("test_m.py::TestC::test_m", TestStatus::Passed),
        ("test_m.py::TestC::test_n", failed("not so\nassert 2 == 1")),
        ("test_m.py::test_loop", failed("stopped: instruction limit exceeded")),
        ("test_m.py::test_after_the_stop", TestStatus::Passed),
        ("test_m.py::test_skipped", TestStatus::Skipped),
        (
            "test_m.py::test_fixture",
            TestStatus::Error { message: "Error: fixture 'tmp_path' not found".to_owned() },
        ),
        (
            "test_m.py::test_deep",
            failed("TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'"),
        ),
    ];
    let expected: Vec<(String, TestStatus)> =
        expected.into_iter().map(|(id, status)| (id.to_owned(), status)).collect();
    assert_eq!(report.tests, expected);
    assert_eq!(report.verdict, Verdict::OutOfFuel);
}

#[test]
fn a_file_that_does_not_load_is_an_error_and_the_others_run() {
    let files = [
        ("test_a.py", "import nothing\n"),
        ("test_b.py", "def test_x(): pass\n"),
        ("test_c.py", "def test_x(): assert 0\n"),
    ];
    let report = report_of(&files, &["test_a.py", "test_b.py", "test_c.py", "test_d.py"]);
    let message = "ModuleNotFoundError: No module named 'nothing'".to_owned();
    assert_eq!(report.status("test_a.py"), Some(&TestStatus::Error { message }));
    assert_eq!(report.status("test_b.py::test_x"), Some(&TestStatus::Passed));
    assert_eq!(
        report.status("test_c.py::test_x"),
        Some(&TestStatus::Failed { message: "assert 0".to_owned() })
    );
    assert!(matches!(report.status("test_d.py"), Some(TestStatus::Error { .. })));
}

#[test]
fn expressions_are_evaluated_where_their_module_lives() {
    let expressions: Vec<String> =
        ["clamp(5, 0, 3)", "[clamp(i, 1, 2) for i in range(3)]", "nope", "1 +", "'é' * 2", "clamp"]
            .map(str::to_owned)
            .into();
    let values = evaluate(&project(), "bounds", &expressions, &Limits::default());
    assert_eq!(values[..2], [Ok("5".to_owned()), Ok("[1, 1, 2]".to_owned())]);
    assert_eq!(values[2], Err("NameError: name 'nope' is not defined".to_owned()));
    assert!(values[3].as_ref().unwrap_err().starts_with("SyntaxError"));
    assert_eq!(values[4], Ok("'éé'".to_owned()));
    let missing = evaluate(&project(), "nothing", &expressions[..1], &Limits::default());
    assert_eq!(missing, [Err("ModuleNotFoundError: No module named 'nothing'".to_owned())]);
    let stops = ["[1 for i in iter(int, 1)]", "1"].map(str::to_owned);
    assert_eq!(evaluate(&project(), "", &["2 ** 3".to_owned()], &Limits::default()), [Ok("8".to_owned())]);
    assert_eq!(evaluate(&project(), "bounds", &stops, &Limits::default())[1], Ok("1".to_owned()));
}
