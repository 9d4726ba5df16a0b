//! Worker processes: what kills one, and what becomes of the run. The binary is its own worker: called with `worker` it
//! serves requests, and otherwise it runs the tests, with the counting allocator that the real binary has too.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]
#![allow(
    clippy::disallowed_methods,
    reason = "these tests are about time: how long a request takes, when a process ends"
)]

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use tadpole_scenarios::repository::Tree;
use tadpole_systems::sandbox::memory::Counting;
use tadpole_systems::sandbox::{Limits, Sandbox, SandboxPool, TestStatus, Verdict, WorkerCommand, worker};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("worker") {
        return worker::main();
    }
    let tests: [(&str, fn()); 11] = [
        ("workers_and_threads_agree", workers_and_threads_agree),
        ("memory_bombs_are_out_of_memory", memory_bombs_are_out_of_memory),
        ("a_native_loop_meets_the_watchdog", a_native_loop_meets_the_watchdog),
        ("deep_programs_do_not_end_the_run", deep_programs_do_not_end_the_run),
        ("a_killed_worker_leaves_no_trace", a_killed_worker_leaves_no_trace),
        ("a_worker_that_always_dies_is_a_verdict", a_worker_that_always_dies_is_a_verdict),
        (
            "a_request_is_worked_on_once_where_answers_are_remembered",
            a_request_is_worked_on_once_where_answers_are_remembered,
        ),
        ("a_verdict_of_the_machine_is_not_remembered", a_verdict_of_the_machine_is_not_remembered),
        ("what_ran_before_does_not_matter", what_ran_before_does_not_matter),
        ("any_number_of_threads_may_call", any_number_of_threads_may_call),
        ("a_worker_ends_with_its_parent", a_worker_ends_with_its_parent),
    ];
    run_all(&tests)
}

/// Runs the tests whose name contains the first argument that is no flag: a runner like the usual one, without a library
/// whose features would have the shell compiled twice.
fn run_all(tests: &[(&str, fn())]) -> ExitCode {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let mut failed = 0;
    let selected: Vec<_> = tests.iter().filter(|(name, _)| name.contains(&filter)).collect();
    for (name, run) in &selected {
        let is_ok = std::panic::catch_unwind(run).is_ok();
        failed += usize::from(!is_ok);
        println!("test {name} ... {}", if is_ok { "ok" } else { "FAILED" });
    }
    println!("{} tests, {failed} failed", selected.len());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn pool(count: usize) -> SandboxPool {
    SandboxPool::workers(WorkerCommand::this_binary().unwrap(), count)
}

fn project() -> Tree {
    let mut tree = Tree::new();
    tree.insert_file("m.py", "def f(x):\n    return x + 1\n").unwrap();
    tree.insert_file("tests/test_m.py", "from m import f\ndef test_f():\n    assert f(1) == 2\n").unwrap();
    tree
}

fn tests() -> Vec<String> {
    vec!["tests/test_m.py".to_owned()]
}

/// Runs a Python program as a test; what it came to.
fn run_program(pool: &SandboxPool, body: &str, limits: &Limits) -> (TestStatus, Verdict) {
    let mut tree = Tree::new();
    let body = body.replace('\n', "\n    ");
    tree.insert_file("test_p.py", format!("def test_p():\n    {body}\n")).unwrap();
    let report = pool.test(&tree, &["test_p.py".to_owned()], limits).unwrap();
    (report.tests[0].1.clone(), report.verdict)
}

fn workers_and_threads_agree() {
    let (processes, threads) = (pool(1), SandboxPool::in_process(1));
    let limits = Limits::default();
    let commands = [
        "ls -la; stat m.py; find . -printf '%p %t\\n'",
        "pytest; python -m pytest -x",
        "echo $RANDOM $SECONDS $$ $EPOCHSECONDS; date; sleep 2; time true; date +%N",
        "x=SRAN; x+=DOM; echo ${!x}; bash -c \"echo \\$$x\"",
        "python -c 'print({1, \"b\", (2,)}, id(1), hash(\"a\"), print, object())'; python -c 'import random'",
        "set; env; declare -p; alias; hostname; id; uname -a; ps; cat /proc/uptime",
        "sort -R m.py; shuf m.py; mktemp; uuidgen; head -c 4 /dev/urandom; awk 'BEGIN{srand(); print rand()}'",
        "declare -A m; for i in a b c d e f g h; do m[$i]=1; done; echo ${!m[@]}",
        "for i in 1 2 3; do echo $i & done; wait; echo a | tee x y; cat x y; tar c x | md5sum",
    ];
    for command in commands {
        let outcome = processes.bash(&project(), command, &limits).unwrap();
        assert_eq!(outcome, threads.bash(&project(), command, &limits).unwrap(), "{command}");
        assert_eq!(outcome, pool(1).bash(&project(), command, &limits).unwrap(), "{command}");
    }
    let report = processes.test(&project(), &tests(), &limits).unwrap();
    assert_eq!(report, threads.test(&project(), &tests(), &limits).unwrap());
    let expressions = ["f(1)", "f('a')"].map(str::to_owned);
    let values = processes.evaluate(&project(), "m", &expressions, &limits).unwrap();
    assert_eq!(values, threads.evaluate(&project(), "m", &expressions, &limits).unwrap());
}

fn memory_bombs_are_out_of_memory() {
    let pool = pool(1);
    let limits = Limits { fuel: 200_000, ..Limits::default() };
    for bomb in [
        "x = []\nwhile True: x.append('a' * 1000)",
        "x = 'a' * 10**10",
        "x = ['a' * 90000] * 90000\ny = ''.join(x)",
        "x = [0]\nwhile True: x = x + x",
        "x = {}\nn = 0\nwhile True:\n    x[n] = [n]\n    n += 1",
        "x = 3\nwhile True: x = x * x",
    ] {
        let (status, verdict) = run_program(&pool, bomb, &limits);
        assert_eq!(verdict, Verdict::OutOfMemory, "{bomb}: {status:?}");
        assert_eq!(
            status,
            TestStatus::Failed { message: "stopped: memory limit exceeded".to_owned() },
            "{bomb}"
        );
    }
    assert_eq!(run_program(&pool, "assert 1 == 1", &limits), (TestStatus::Passed, Verdict::Completed));
    assert_eq!(pool.deaths(), 0);
}

fn a_native_loop_meets_the_watchdog() {
    let pool = pool(1);
    let limits = Limits { wall_ms: 300, ..Limits::default() };
    let (_, verdict) = run_program(&pool, "sum(range(10**12))", &limits);
    assert_eq!(verdict, Verdict::Watchdog);
    assert_eq!(run_program(&pool, "pass", &limits).1, Verdict::Completed);
}

fn deep_programs_do_not_end_the_run() {
    let pool = pool(1);
    let limits = Limits::default();
    for program in [
        format!("x = {}1", "-".repeat(100_000)),
        format!("x = {}1{}", "[".repeat(5_000), "]".repeat(5_000)),
        format!("x = 1{}", " + 1".repeat(50_000)),
        format!("x = a{}", ".a".repeat(50_000)),
        format!("x = {}1", "not ".repeat(50_000)),
        format!("x = {}1", "lambda: ".repeat(20_000)),
        "x = []\nfor i in range(100000): x = [x]\nrepr(x)\nx == [x]".to_owned(),
        "def f(): return f()\nf()".to_owned(),
        "for i in range(1000): x = sorted([3, 1], key=lambda v: [v] * 10)".to_owned(),
    ] {
        let (status, verdict) = run_program(&pool, &program, &limits);
        assert!(matches!(verdict, Verdict::Completed | Verdict::OutOfMemory), "{program:.40}: {status:?}");
        let after = run_program(&pool, "pass", &limits);
        assert_eq!(after, (TestStatus::Passed, Verdict::Completed), "after {program:.40}");
    }
    let script = format!("{}echo x{}", "$(".repeat(2_000), ")".repeat(2_000));
    for command in [script.as_str(), &"( ".repeat(5_000), &"{ ".repeat(5_000), &"if ".repeat(5_000)] {
        assert_eq!(pool.bash(&project(), command, &limits).unwrap().exit_code, 2, "{command:.20}");
    }
    assert_eq!(pool.bash(&project(), "echo ok", &limits).unwrap().stdout, b"ok\n");
    assert_eq!(pool.deaths(), 0);
}

fn kill(id: u32) {
    assert!(Command::new("kill").args(["-9", &id.to_string()]).status().unwrap().success());
}

fn a_killed_worker_leaves_no_trace() {
    let pool = pool(1);
    let limits = Limits::default();
    let before = pool.test(&project(), &tests(), &limits).unwrap();
    kill(pool.idle_process_ids()[0]);
    assert_eq!(pool.test(&project(), &tests(), &limits).unwrap(), before);
    assert_eq!(pool.deaths(), 1);
    // In the middle of a request.
    let id = pool.idle_process_ids()[0];
    std::thread::scope(|scope| {
        let long = Limits { fuel: 1 << 40, ..limits.clone() };
        let pool = &pool;
        let busy = scope.spawn(move || run_program(pool, "for i in range(1000000): pass", &long));
        std::thread::sleep(Duration::from_millis(5));
        kill(id);
        assert_eq!(busy.join().unwrap(), (TestStatus::Passed, Verdict::Completed));
    });
    assert_eq!(pool.test(&project(), &tests(), &limits).unwrap(), before);
}

fn a_worker_that_always_dies_is_a_verdict() {
    let command = WorkerCommand { program: "/bin/false".into(), arguments: Vec::new() };
    let pool = SandboxPool::workers(command, 1);
    let outcome = pool.bash(&project(), "ls", &Limits::default()).unwrap();
    assert_eq!((outcome.verdict, outcome.exit_code), (Verdict::Aborted, 134));
    assert_eq!(outcome.stderr, b"stopped: the interpreter failed\n");
    let report = pool.test(&project(), &tests(), &Limits::default()).unwrap();
    assert_eq!(report.verdict, Verdict::Aborted);
    let missing = WorkerCommand { program: "/nothing/here".into(), arguments: Vec::new() };
    assert!(SandboxPool::workers(missing, 1).bash(&project(), "ls", &Limits::default()).is_err());
}

fn a_request_is_worked_on_once_where_answers_are_remembered() {
    let limits = Limits::default();
    let pool = pool(1).remembering(1 << 20);
    let first = pool.test(&project(), &tests(), &limits).unwrap();
    kill(pool.idle_process_ids()[0]);
    assert_eq!(pool.test(&project(), &tests(), &limits).unwrap(), first);
    assert_eq!(pool.deaths(), 0, "the dead worker was not asked");
    let outcome = pool.bash(&project(), "pytest", &limits).unwrap();
    assert_eq!((outcome.exit_code, pool.deaths()), (0, 1), "another request needs one");
}

fn a_verdict_of_the_machine_is_not_remembered() {
    let command = WorkerCommand { program: "/bin/false".into(), arguments: Vec::new() };
    let pool = SandboxPool::workers(command, 1).remembering(1 << 20);
    for asked in 1..=2 {
        assert_eq!(pool.bash(&project(), "ls", &Limits::default()).unwrap().verdict, Verdict::Aborted);
        assert_eq!(pool.deaths(), 2 * asked);
    }
}

fn what_ran_before_does_not_matter() {
    let limits = Limits::default();
    let program = "x = []\nwhile True: x.append('a' * 1000)";
    let fresh = run_program(&pool(1), program, &limits);
    let used = pool(1);
    for command in
        ["pytest", "python -c 'x = [1] * 100000'", "cat m.py; awk 'BEGIN{print 1}'", "while :; do :; done"]
    {
        used.bash(&project(), command, &limits).unwrap();
    }
    assert_eq!(run_program(&used, program, &limits), fresh);
    let command = "echo $RANDOM; set";
    let after = used.bash(&project(), command, &limits).unwrap();
    assert_eq!(after, pool(1).bash(&project(), command, &limits).unwrap());
}

fn any_number_of_threads_may_call() {
    const ROUNDS: u32 = 200;
    let pool = pool(2);
    let limits = Limits::default();
    let expected = pool.test(&project(), &tests(), &limits).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(pool.test(&project(), &tests(), &limits).unwrap(), expected);
                }
            });
        }
    });
    assert_eq!(pool.deaths(), 0);
    let start = Instant::now();
    for _ in 0..ROUNDS {
        pool.test(&project(), &tests(), &limits).unwrap();
    }
    let test = start.elapsed() / ROUNDS;
    let start = Instant::now();
    for _ in 0..ROUNDS {
        pool.bash(&project(), "cat m.py | head -1", &limits).unwrap();
    }
    println!("a test request: {test:?}; a shell request: {:?}", start.elapsed() / ROUNDS);
}

fn a_worker_ends_with_its_parent() {
    let command = WorkerCommand::this_binary().unwrap();
    let mut child = Command::new(command.program)
        .args(command.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdin.take());
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(5), "the worker outlives its pipe");
        std::thread::sleep(Duration::from_millis(5));
    }
}
