//! Cases of the tools and the loop: each is one episode of Leaf over Hermes.

use std::sync::Arc;

use serde_json::{Value, json};
use tadpole_scenarios::repository::{Entry, MODE_FILE, Tree};
use tadpole_systems::codec::{Codec, Hermes, ToolCall, spelled};
use tadpole_systems::harness::leaf::{Leaf, LeafConfig, TOOLS};
use tadpole_systems::harness::{Episode, Exit, Finish, Harness, ModelOutput, TaskView, TurnOutcome};
use tadpole_systems::sandbox::{BashOutcome, Limits, Sandbox, SandboxError, TestReport};

/// A sandbox that no case here asks for anything.
struct Unasked;

impl Sandbox for Unasked {
    fn bash(&self, _: &Tree, command: &str, _: &Limits) -> Result<BashOutcome, SandboxError> {
        panic!("unasked: {command}")
    }

    fn test(&self, _: &Tree, files: &[String], _: &Limits) -> Result<TestReport, SandboxError> {
        panic!("unasked: {files:?}")
    }

    fn evaluate(
        &self,
        _: &Tree,
        module: &str,
        _: &[String],
        _: &Limits,
    ) -> Result<Vec<Result<String, String>>, SandboxError> {
        panic!("unasked: {module}")
    }
}

fn begin(tree: &Tree) -> Box<dyn Episode> {
    let codec = Arc::new(Hermes::new(TOOLS));
    Leaf::new(LeafConfig::full(Limits::default()), codec).begin(&TaskView { statement: "", tree })
}

fn output(tool: &str, arguments: Value) -> ModelOutput {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let call = ToolCall { name: tool.to_owned(), arguments, fault: None };
    ModelOutput::stopped(spelled(&Hermes::new(TOOLS).turn("", &[call])))
}

/// The observation of a turn with one call, after which the episode goes on.
fn observation(episode: &mut dyn Episode, output: &ModelOutput) -> String {
    match episode.turn(output, &Unasked).unwrap() {
        TurnOutcome::Continue { mut observations, .. } if observations.len() == 1 => observations.remove(0),
        other => panic!("one observation expected: {other:?}"),
    }
}

/// The bytes that `file_bytes` or `file_bytes_hex` give.
fn bytes(value: &Value) -> Option<Vec<u8>> {
    let hex = |text: &str| {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    };
    match (value["file_bytes"].as_str(), value["file_bytes_hex"].as_str()) {
        (Some(text), _) => Some(text.as_bytes().to_vec()),
        (None, Some(text)) => Some(hex(text)),
        (None, None) => None,
    }
}

fn mode(value: &Value) -> Option<u32> {
    value["mode"].as_str().map(|octal| u32::from_str_radix(octal, 8).unwrap())
}

/// One edit of one file; every expectation that the case names is checked.
pub(super) fn edit(case: &Value) {
    let (given, expect) = (&case["given"], &case["expect"]);
    let before = bytes(given).unwrap();
    let before = Entry::File { bytes: before, mode: mode(given).unwrap_or(MODE_FILE) };
    let mut tree = Tree::new();
    tree.insert("file", before.clone()).unwrap();
    let mut episode = begin(&tree);
    let call =
        json!({"file_path": "file", "old_string": given["old_string"], "new_string": given["new_string"]});
    let text = observation(&mut *episode, &output("Edit", call));
    let after = episode.tree().get("file").unwrap().clone();
    let Entry::File { bytes: after_bytes, mode: after_mode } = after.clone() else {
        panic!("the file is gone")
    };
    for (key, value) in expect.as_object().unwrap() {
        match key.as_str() {
            "file_bytes" | "file_bytes_hex" => {
                assert_eq!(Some(&after_bytes), bytes(expect).as_ref(), "{text}");
                assert_eq!(text, "Edited file (1 replacement).");
            }
            "mode" => assert_eq!(Some(after_mode), mode(expect)),
            "file_unchanged" => assert_eq!(after == before, value.as_bool().unwrap()),
            "error_contains" => {
                assert!(text.starts_with("Error: "), "{text}");
                for part in value.as_array().unwrap() {
                    assert!(text.contains(part.as_str().unwrap()), "{text}");
                }
            }
            "hint" => assert!(text.contains("straight quotes") && text.contains("line 1"), "{value}: {text}"),
            other => panic!("an expectation that nothing checks: {other}"),
        }
    }
}

/// An edit through a link changes its target and leaves the link.
pub(super) fn edit_through_link(case: &Value) {
    let target = case["given"]["path_is_symlink_to"].as_str().unwrap();
    let link = Entry::Link { target: target.to_owned() };
    let mut tree = Tree::new();
    tree.insert_file(target, "x = 1\n").unwrap();
    tree.insert("link.py", link.clone()).unwrap();
    let mut episode = begin(&tree);
    let call = json!({"file_path": "link.py", "old_string": "1", "new_string": "2"});
    observation(&mut *episode, &output("Edit", call));
    assert_eq!(json!(episode.tree().text(target) == Some("x = 2\n")), case["expect"]["target_edited"]);
    assert_eq!(json!(episode.tree().get("link.py") == Some(&link)), case["expect"]["still_symlink"]);
}

fn read(file: &[u8], arguments: Value) -> String {
    let mut tree = Tree::new();
    tree.insert_file("file", file).unwrap();
    observation(&mut *begin(&tree), &output("Read", arguments))
}

/// Only a line feed breaks a line.
pub(super) fn read_lines(case: &Value) {
    let text = read(&bytes(&case["given"]).unwrap(), json!({"file_path": "file"}));
    let numbered: Vec<String> = (1..)
        .zip(case["expect"]["lines"].as_array().unwrap())
        .map(|(number, line)| format!("{number}. {}", line.as_str().unwrap()))
        .collect();
    assert_eq!(text, format!("file\n{}", numbered.join("\n")));
}

/// An offset past the end says how many lines there are.
pub(super) fn read_past_end(case: &Value) {
    let lines = case["given"]["lines"].as_u64().unwrap();
    let file: String = (0..lines).flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
    let text = read(file.as_bytes(), json!({"file_path": "file", "offset": case["given"]["offset"]}));
    assert!(text.contains(case["expect"]["text_mentions"].as_str().unwrap()), "{text}");
}

/// A call whose arguments are not JSON is an error observation, and the episode goes on.
pub(super) fn malformed_json(case: &Value) {
    let (tool, arguments) = (&case["given"]["tool"], case["given"]["arguments"].as_str().unwrap());
    let text = format!("<tool_call>\n{{\"name\": {tool}, \"arguments\": {arguments}}}\n</tool_call>");
    let mut episode = begin(&Tree::new());
    let seen = observation(&mut *episode, &ModelOutput::stopped(text));
    assert!(seen.contains(case["expect"]["observation_contains"].as_str().unwrap()), "{seen}");
    assert_eq!(case["expect"]["continues"], true);
    assert_eq!(observation(&mut *episode, &output("Glob", json!({"pattern": "*"}))), "No files matched.");
}

/// A turn that was cut runs none of its calls and ends the episode by the limit that cut it.
pub(super) fn length_finish(case: &Value) {
    let exits = [(Finish::TurnTokens, Exit::MaxTurnTokens), (Finish::Context, Exit::MaxContext)];
    let named: Vec<&str> = case["expect"]["exit"].as_str().unwrap().split('|').collect();
    assert_eq!(named, ["max_tokens_per_turn", "max_context_len"]);
    for (cut, exit) in exits {
        let mut episode = begin(&Tree::new());
        let mut turn = output("Write", json!({"file_path": "new", "content": "x"}));
        turn.finish = Finish::from_reason(case["given"]["finish_reason"].as_str().unwrap(), cut);
        assert_eq!(episode.turn(&turn, &Unasked).unwrap(), TurnOutcome::Done(exit));
        assert_eq!(json!(episode.facts().tool_calls), case["expect"]["executed"]);
        assert!(episode.patch().is_empty());
    }
}

/// No text and no call is a final answer.
pub(super) fn empty_final(case: &Value) {
    let mut episode = begin(&Tree::new());
    let turn = ModelOutput::stopped(case["given"]["content"].as_str().unwrap());
    assert_eq!(case["expect"]["exit"], "agent");
    assert_eq!(episode.turn(&turn, &Unasked).unwrap(), TurnOutcome::Done(Exit::Final));
}

/// `tool_calls` as the reason a turn ended is no cut: the call runs, here into an unknown tool.
pub(super) fn tool_calls_are_no_cut(case: &Value) {
    let mut turn = output(case["given"]["tool"].as_str().unwrap(), json!({}));
    turn.finish = Finish::from_reason(case["given"]["finish_reason"].as_str().unwrap(), Finish::TurnTokens);
    let text = observation(&mut *begin(&Tree::new()), &turn);
    assert!(text.contains(case["expect"]["error_contains"].as_str().unwrap()), "{text}");
    assert!(!text.to_lowercase().contains("truncat"), "{text}");
}
