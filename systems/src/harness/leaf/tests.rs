//! The harness as a whole, over a shell that only records what it is asked.

use std::sync::Mutex;

use proptest::prelude::*;
use tadpole_scenarios::repository::Entry;

use super::*;
use crate::codec::{Hermes, spelled};
use crate::sandbox::{BashOutcome, TestReport};

/// A sandbox whose commands print themselves, touch `touched` and take `ls` for a removal of `a.py`.
#[derive(Default)]
struct Recorder {
    asked: Mutex<Vec<(String, u64)>>,
}

impl Sandbox for Recorder {
    fn bash(&self, _: &Tree, command: &str, limits: &Limits) -> Result<BashOutcome, SandboxError> {
        self.asked.lock().unwrap().push((command.to_owned(), limits.fuel));
        if command == "broken" {
            return Err(SandboxError::Gone);
        }
        let mut changed = Tree::new();
        changed.insert_file("touched", command).unwrap();
        if command == "ls" {
            changed.insert("a.py", Entry::Absent).unwrap();
        }
        let stdout = [command.as_bytes(), b"\xff\n"].concat();
        Ok(BashOutcome { exit_code: 3, stdout, stderr: Vec::new(), changed, ..BashOutcome::default() })
    }

    fn test(&self, _: &Tree, _: &[String], _: &Limits) -> Result<TestReport, SandboxError> {
        Err(SandboxError::Gone)
    }

    fn evaluate(
        &self,
        _: &Tree,
        _: &str,
        _: &[String],
        _: &Limits,
    ) -> Result<Vec<Result<String, String>>, SandboxError> {
        Err(SandboxError::Gone)
    }
}

fn tree(files: &[(&str, &str)]) -> Tree {
    Tree::from_files(files.iter().copied()).unwrap()
}

fn codec() -> Arc<dyn Codec> {
    Arc::new(Hermes::new(TOOLS))
}

fn begin(config: LeafConfig, files: &[(&str, &str)]) -> Box<dyn Episode> {
    Leaf::new(config, codec()).begin(&TaskView { statement: "Mend it.", tree: &tree(files) })
}

fn spell(calls: &[ToolCall]) -> ModelOutput {
    ModelOutput::stopped(spelled(&codec().turn("", calls)))
}

fn call(name: &str, arguments: &[(&str, &str)]) -> ToolCall {
    ToolCall::new(name, arguments)
}

/// The observations of one turn on a repository of `a.py`, `lib/b.py` and links.
fn observe(calls: &[ToolCall]) -> Vec<String> {
    let mut repository = tree(&[("a.py", "x = 1\n"), ("lib/b.py", "y = 2\nz = 3\n")]);
    repository.insert("link.py", Entry::Link { target: "lib/b.py".into() }).unwrap();
    repository.insert("dir", Entry::Link { target: "/repo/lib".into() }).unwrap();
    repository.insert("loop", Entry::Link { target: "loop".into() }).unwrap();
    repository.insert("out", Entry::Link { target: "/etc/passwd".into() }).unwrap();
    let harness = Leaf::new(LeafConfig::full(Limits::default()), codec());
    let mut episode = harness.begin(&TaskView { statement: "", tree: &repository });
    match episode.turn(&spell(calls), &Recorder::default()).unwrap() {
        TurnOutcome::Continue { observations, .. } => observations,
        TurnOutcome::Done(exit) => panic!("the episode ended: {exit:?}"),
    }
}

fn check(tool: &str, arguments: &[(&str, &str)], expected: &str) {
    assert_eq!(observe(&[call(tool, arguments)]), [expected], "{tool} {arguments:?}");
}

#[test]
fn read_shows_path_and_numbered_lines() {
    check("Read", &[("file_path", "lib/b.py")], "lib/b.py\n1. y = 2\n2. z = 3");
    check("Read", &[("file_path", "/repo/./lib/../lib//b.py"), ("offset", "2")], "lib/b.py\n2. z = 3");
    check("Read", &[("path", "lib/b.py"), ("limit", "1")], "lib/b.py\n1. y = 2");
    check("Read", &[("file_path", "link.py"), ("limit", "1")], "lib/b.py\n1. y = 2");
    check("Read", &[("file_path", "dir/b.py"), ("limit", "1")], "lib/b.py\n1. y = 2");
}

#[test]
fn a_path_that_cannot_be_read_says_why() {
    check("Read", &[("file_path", "c.py")], "Error: no such file: c.py");
    check("Read", &[("file_path", "lib")], "Error: lib is a directory");
    check("Read", &[("file_path", "dir")], "Error: dir is a directory");
    check("Read", &[("file_path", "../a.py")], "Error: ../a.py is outside the repository");
    check("Read", &[("file_path", "/etc/passwd")], "Error: /etc/passwd is outside the repository");
    check("Read", &[("file_path", "out")], "Error: /etc/passwd is outside the repository");
    check("Read", &[("file_path", "loop")], "Error: loop: too many levels of symbolic links");
    check("Read", &[("file_path", "a.py"), ("offset", "two")], "Error: offset must be a number");
    check(
        "Read",
        &[("file_path", "a.py"), ("offset", "5")],
        "Error: a.py has 1 line; offset 5 is past its end",
    );
}

#[test]
fn write_creates_parents_and_keeps_links_and_directories() {
    check("Write", &[("file_path", "new/deep/c.py"), ("content", "é\n")], "Wrote new/deep/c.py (3 bytes).");
    check("Write", &[("file_path", "c.py"), ("content", "")], "Wrote c.py (0 bytes).");
    check("Write", &[("file_path", "lib"), ("content", "")], "Error: lib is a directory");
    check("Write", &[("file_path", "x/"), ("content", "")], "Error: x/ is a directory");
    check("Write", &[("file_path", "."), ("content", "")], "Error: . is not a file");
    check(
        "Write",
        &[("file_path", "a.py/b"), ("content", "")],
        "Error: a.py/b cannot lie below a.py, which is not a directory",
    );
    check("Write", &[("file_path", "c.py")], "Error: content is required");
}

#[test]
fn glob_lists_sorted_paths() {
    check(
        "Glob",
        &[("pattern", "**/*.py")],
        "a.py\ndir/b.py\nlib/b.py\nlink.py".replace("dir/b.py\n", "").as_str(),
    );
    check("Glob", &[("pattern", "/repo/lib/*")], "lib/b.py");
    check("Glob", &[("pattern", "*.py"), ("path", "dir")], "lib/b.py");
    check("Glob", &[("pattern", "*.rs")], "No files matched.");
    check("Glob", &[], "Error: pattern is required");
}

#[test]
fn unknown_tools_and_nameless_calls_are_observations() {
    check("shell", &[], "Error: Unknown tool: shell. Tools are Read, Write, Edit, Glob and Bash.");
    assert_eq!(
        observe(&[ToolCall::malformed("nonsense".into())]),
        ["Error: Unknown tool: . Tools are Read, Write, Edit, Glob and Bash."]
            .map(|_| "Error: a call must give name and arguments".to_owned())
    );
}

#[test]
fn calls_of_a_turn_run_in_order_and_see_each_other() {
    let observations = observe(&[
        call("Edit", &[("file_path", "a.py"), ("old_string", "1"), ("new_string", "2")]),
        call("Bash", &[("command", "ls")]),
        call("Read", &[("file_path", "a.py")]),
        call("Read", &[("file_path", "touched")]),
    ]);
    assert_eq!(
        observations,
        [
            "Edited a.py (1 replacement).",
            "Exit code: 3\nSTDOUT:\nls\u{FFFD}\n\nSTDERR:\n",
            "Error: no such file: a.py",
            "touched\n1. ls",
        ]
    );
}

#[test]
fn what_is_cut_says_how_much() {
    let config =
        LeafConfig { read_chars: 10, bash_chars: 12, glob_files: 1, ..LeafConfig::full(Limits::default()) };
    let mut episode = begin(config, &[("a.py", "ééééé\n"), ("b.py", "")]);
    let calls = [
        call("Read", &[("file_path", "a.py")]),
        call("Bash", &[("command", "x")]),
        call("Glob", &[("pattern", "*")]),
    ];
    let outcome = episode.turn(&spell(&calls), &Recorder::default()).unwrap();
    let TurnOutcome::Continue { observations, .. } = outcome else { panic!("the episode ended") };
    assert_eq!(
        observations,
        ["a.py\n1. éé\n[truncated 3 chars]", "Exit code: 3\n[truncated 21 chars]", "a.py\n... 2 more files",]
    );
}

#[test]
fn a_limit_on_time_is_a_limit_on_fuel() {
    for (timeout, fuel) in [("0.1", 5_000), ("120", 20_000), ("120000", 20_000), ("-1", 5_000)] {
        let recorder = Recorder::default();
        let mut episode = begin(LeafConfig::full(Limits { fuel: 20_000, ..Limits::default() }), &[]);
        episode.turn(&spell(&[call("Bash", &[("command", "x"), ("timeout", timeout)])]), &recorder).unwrap();
        assert_eq!(*recorder.asked.lock().unwrap(), [("x".to_owned(), fuel)], "{timeout}");
    }
}

#[test]
fn values_above_a_thousand_are_milliseconds() {
    for (key, value, seconds) in [
        ("timeout", 120_000.0, 120.0),
        ("timeout", 1_000.0, 1_000.0),
        ("timeout_ms", 500.0, 0.5),
        ("timeout", 0.0, 0.1),
    ] {
        let arguments = [(key.to_owned(), serde_json::json!(value))].into_iter().collect();
        assert_eq!(bash::timeout_seconds(&Arguments::new(&arguments)), Ok(Some(seconds)), "{key} {value}");
    }
}

#[test]
fn a_failing_sandbox_is_not_an_observation() {
    let mut episode = begin(LeafConfig::full(Limits::default()), &[]);
    assert!(episode.turn(&spell(&[call("Bash", &[("command", "broken")])]), &Recorder::default()).is_err());
}

#[test]
fn an_episode_ends_once_and_stays_so() {
    let config = LeafConfig { max_turns: 2, ..LeafConfig::terse(Limits::default()) };
    let mut episode = begin(config, &[("a.py", "")]);
    let read = spell(&[call("Read", &[("file_path", "a.py")])]);
    let sandbox = Recorder::default();
    assert!(matches!(episode.turn(&read, &sandbox), Ok(TurnOutcome::Continue { .. })));
    assert!(matches!(episode.turn(&read, &sandbox), Ok(TurnOutcome::Done(Exit::MaxTurns))));
    assert!(matches!(
        episode.turn(&ModelOutput::stopped(""), &sandbox),
        Ok(TurnOutcome::Done(Exit::MaxTurns))
    ));
    assert_eq!(episode.facts(), EpisodeFacts { turns: 2, tool_calls: 2, ..EpisodeFacts::default() });
    assert_eq!(episode.transcript().len(), 2);
}

#[test]
fn the_patch_is_the_difference_from_the_recorded_base() {
    let mut episode = begin(LeafConfig::terse(Limits::default()), &[("a.py", "x = 1\n"), ("b.py", "")]);
    let edit = call("Edit", &[("file_path", "b.py"), ("old_string", ""), ("new_string", "x")]);
    let write = call("Write", &[("file_path", "b.py"), ("content", "")]);
    episode.turn(&spell(&[call("Bash", &[("command", "ls")]), edit, write]), &Recorder::default()).unwrap();
    assert_eq!(episode.patch().paths().collect::<Vec<_>>(), ["a.py", "touched"]);
    assert_eq!(episode.patch(), tree(&[("a.py", "x = 1\n"), ("b.py", "")]).diff(episode.tree()));
    assert_eq!((episode.facts().tool_errors, episode.facts().edits), (1, 1));
}

#[test]
fn terse_results_have_no_headings_and_no_system_prompt() {
    let mut episode = begin(LeafConfig::terse(Limits::default()), &[]);
    assert_eq!(
        spelled(&episode.opening()),
        "<|im_start|>system\n<|im_end|>\n<|im_start|>user\nMend it.<|im_end|>\n<|im_start|>assistant\n"
    );
    let outcome = episode.turn(&spell(&[call("Bash", &[("command", "x")])]), &Recorder::default()).unwrap();
    let TurnOutcome::Continue { observations, .. } = outcome else { panic!("the episode ended") };
    assert_eq!(observations, ["Exit code: 3\nx\u{FFFD}"]);
    let full = Leaf::new(LeafConfig::full(Limits::default()), codec()).system_prompt();
    assert!(full.contains("\"name\": \"Edit\"") && full.contains("<tools>"));
}

proptest! {
    #[test]
    fn no_text_of_a_policy_is_fatal(text in "(?s)(<tool_call>|</tool_call>|[{}\":,a-z\\\\\n]|\"name\"|\"Read\"|\"Edit\"|\"arguments\"|.){0,60}") {
        let mut episode = begin(LeafConfig::full(Limits::default()), &[("a", "b\r\nc")]);
        prop_assert!(episode.turn(&ModelOutput::stopped(text), &Recorder::default()).is_ok());
    }

    #[test]
    fn no_arguments_are_fatal(
        tool in proptest::sample::select(vec!["Read", "Write", "Edit", "Glob", "Bash"]),
        keys in proptest::collection::vec(proptest::sample::select(vec![
            "file_path", "path", "offset", "limit", "content", "old_string", "new_string", "replace_all", "pattern",
            "command", "timeout",
        ]), 0..5),
        values in proptest::collection::vec("(?s)(\\.\\.|/|\\*\\*|[a*?\\[\\]!-]|\r\n|-?[0-9]{1,12}|.){0,8}", 5),
    ) {
        let arguments: Vec<(&str, &str)> = keys.iter().copied().zip(values.iter().map(String::as_str)).collect();
        prop_assert_eq!(observe(&[call(tool, &arguments)]).len(), 1);
    }
}
