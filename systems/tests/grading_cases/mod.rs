//! Cases of grading. Where a case is of files and exit codes of containers, its check says what stands in their place here.

use std::cell::Cell;
use std::sync::Arc;

use serde_json::{Value, json};
use tadpole_scenarios::repository::Tree;
use tadpole_scenarios::schema::Reward;
use tadpole_systems::codec::{Codec, Hermes, ToolCall, spelled};
use tadpole_systems::grading::{
    Exit, Grade, GradeError, Graded, Hidden, Tally, check, grade, judge, raw_reward,
};
use tadpole_systems::harness::leaf::{Leaf, LeafConfig, TOOLS};
use tadpole_systems::harness::{Harness, ModelOutput, TaskView};
use tadpole_systems::sandbox::{
    BashOutcome, Limits, Sandbox, SandboxError, SandboxPool, TestReport, TestStatus, Verdict,
};

/// A sandbox whose test runs end as given; `None` is a failure to start.
struct Fixed(Option<TestReport>);

impl Sandbox for Fixed {
    fn bash(&self, _: &Tree, _: &str, _: &Limits) -> Result<BashOutcome, SandboxError> {
        Err(SandboxError::Gone)
    }

    fn test(&self, _: &Tree, _: &[String], _: &Limits) -> Result<TestReport, SandboxError> {
        let fault = || SandboxError::Spawn(std::io::Error::other("Failed to launch Chrome"));
        self.0.clone().ok_or_else(fault)
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

fn ids(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

/// Grades a report like the case's map, for tests that lie in a file of their own name.
fn graded(fail_to_pass: &[String], pass_to_pass: &[String], map: &Value) -> Graded {
    let status = |word: &Value| match word.as_str().unwrap() {
        "PASSED" => TestStatus::Passed,
        "SKIPPED" => TestStatus::Skipped,
        other => panic!("unknown status {other}"),
    };
    let tests = map.as_object().unwrap().iter().map(|(id, word)| (id.clone(), status(word))).collect();
    let files: Vec<(&str, &str)> =
        fail_to_pass.iter().chain(pass_to_pass).map(|id| (id.as_str(), "")).collect();
    let (base, tests_tree) = (Tree::new(), tree(&files));
    let hidden = Hidden { base: &base, tests: &tests_tree, gold: &base, fail_to_pass, pass_to_pass };
    let sandbox = Fixed(Some(TestReport { tests, verdict: Verdict::Completed }));
    grade(&hidden, &base, &sandbox, &Limits::default()).unwrap()
}

/// What runs give for an episode with this grade, by the rules that scenarios default to.
fn reward(graded: &Graded, exit: Exit) -> Option<f32> {
    raw_reward(&Reward::default(), exit, graded.grade)
}

/// A test of F2P that is skipped or absent is not passed.
pub(super) fn fail_to_pass(case: &Value) {
    let graded = graded(&ids(&case["given"]["F2P"]), &[], &case["given"]["map"]);
    assert_eq!(json!(graded.grade == Grade::Resolved), case["expect"]["resolved"]);
    assert_eq!(graded.failing, ids(&case["given"]["F2P"]));
    assert_eq!(reward(&graded, Exit::Final), Some(0.0));
}

/// A test of P2P that is skipped is no regression.
pub(super) fn pass_to_pass(case: &Value) {
    let mut map = case["given"]["map"].clone();
    map["mended"] = json!("PASSED");
    let graded = graded(&["mended".to_owned()], &ids(&case["given"]["P2P"]), &map);
    assert_eq!(json!(graded.failing.is_empty()), case["expect"]["p2p_ok"]);
    assert_eq!(graded.grade, Grade::Resolved);
}

/// A task without F2P is refused where it is made, and again where it is graded.
pub(super) fn empty_fail_to_pass(case: &Value) {
    let empty = Tree::new();
    let (fail_to_pass, pass_to_pass) = (ids(&case["given"]["F2P"]), ids(&case["given"]["P2P"]));
    let hidden = Hidden {
        base: &empty,
        tests: &empty,
        gold: &empty,
        fail_to_pass: &fail_to_pass,
        pass_to_pass: &pass_to_pass,
    };
    assert_eq!(json!(check(&hidden) == Err(GradeError::EmptyFailToPass)), case["expect"]["import_error"]);
    let graded = grade(&hidden, &empty, &Fixed(Some(TestReport::default())), &Limits::default());
    assert_eq!(graded, Err(GradeError::EmptyFailToPass));
}

/// A task that the real sandbox grades: `twice` is wrong, `once` is right.
struct Task {
    base: Tree,
    tests: Tree,
    gold: Tree,
    fail_to_pass: Vec<String>,
    pass_to_pass: Vec<String>,
}

impl Task {
    fn new(broken: &str) -> Self {
        let module = |twice: &str| format!("def twice(n):\n    {twice}\n\ndef once(n):\n    return n\n");
        let test = "from shop import once, twice\n\ndef test_twice():\n    assert twice(2) == 4\n\n\
                    def test_once():\n    assert once(2) == 2\n";
        Self {
            base: tree(&[("shop.py", &module(broken))]),
            tests: tree(&[("test_shop.py", test)]),
            gold: tree(&[("shop.py", &module("return n + n"))]),
            fail_to_pass: vec!["test_shop.py::test_twice".to_owned()],
            pass_to_pass: vec!["test_shop.py::test_once".to_owned()],
        }
    }

    fn graded(&self, now: &Tree) -> Graded {
        let hidden = Hidden {
            base: &self.base,
            tests: &self.tests,
            gold: &self.gold,
            fail_to_pass: &self.fail_to_pass,
            pass_to_pass: &self.pass_to_pass,
        };
        grade(&hidden, now, &SandboxPool::in_process(1), &Limits::default()).unwrap()
    }
}

/// An empty patch earns nothing; gold earns everything, less where the episode was cut.
pub(super) fn no_patch(case: &Value) {
    let task = Task::new("return n");
    assert_eq!(case["given"]["patch"], "");
    let graded = task.graded(&task.base);
    assert_eq!(reward(&graded, Exit::Final).map(f64::from), case["expect"]["reward"].as_f64());
    let gold = task.graded(&task.base.overlaid(&task.gold));
    assert_eq!(reward(&gold, Exit::Final), Some(1.0));
    assert_eq!(reward(&gold, Exit::MaxTurns), Some(0.5));
    assert_eq!(reward(&gold, Exit::Infra), None);
}

/// A reward that the agent writes where a container's verifier would is no evidence: here the agent tries by a file tool and
/// by a command, outside of the repository and in it, and the grade still comes from the report of a run of our own.
pub(super) fn reward_written_by_the_agent(case: &Value) {
    let task = Task::new("return n");
    let (path, text) = case["given"]["agent_writes"].as_str().unwrap().split_once('=').unwrap();
    let codec = Arc::new(Hermes::new(TOOLS));
    let harness = Leaf::new(LeafConfig::full(Limits::default()), codec.clone());
    let mut episode = harness.begin(&TaskView { statement: "", tree: &task.base });
    let command = format!("mkdir -p /logs/verifier && echo '{text}' > {path}");
    let calls = [
        ToolCall::new("Write", &[("file_path", path), ("content", text)]),
        ToolCall::new("Write", &[("file_path", &path[1..]), ("content", text)]),
        ToolCall::new("Bash", &[("command", &command)]),
    ];
    let output = ModelOutput::stopped(spelled(&codec.turn("", &calls)));
    episode.turn(&output, &SandboxPool::in_process(1)).unwrap();
    assert!(episode.transcript()[0].observations[0].contains("outside the repository"));
    assert!(episode.tree().contains(&path[1..]));
    let graded = task.graded(episode.tree());
    assert_eq!(reward(&graded, Exit::Final).map(f64::from), case["expect"]["reward"].as_f64());
    assert_eq!(graded.grade, Grade::Unresolved);
}

/// An outside verifier that wrote no reward failed itself: no reward, and not one of 0.
pub(super) fn reward_missing(case: &Value) {
    let reward_file = case["given"]["reward_file"].as_f64();
    let judged = judge(1, || Ok(reward_file));
    assert_eq!(case["expect"]["status"], "infra_error");
    assert_eq!((judged.grade, judged.attempts), (Grade::Infra, 1));
    assert!(judged.fault.unwrap().contains("no reward"));
}

/// A negative reward is the verifier's fault: it is run again, and then it is infra.
pub(super) fn reward_negative(case: &Value) {
    let reward = case["given"]["reward"].as_f64();
    assert_eq!(case["expect"]["status"], "retry then infra_error");
    let runs = Cell::new(0);
    let judged = judge(2, || {
        runs.set(runs.get() + 1);
        Ok(reward)
    });
    assert_eq!((judged.grade, runs.get()), (Grade::Infra, 2));
    let mut answers = [reward, Some(1.0)].into_iter();
    let judged = judge(2, || Ok(answers.next().flatten()));
    assert_eq!((judged.grade, judged.attempts), (Grade::Resolved, 2));
}

/// A sandbox that cannot start is labelled as such, is no reward of 0, and stays in the denominator.
pub(super) fn infra_counts(case: &Value) {
    let task = Task::new("return n");
    let hidden = Hidden {
        base: &task.base,
        tests: &task.tests,
        gold: &task.gold,
        fail_to_pass: &task.fail_to_pass,
        pass_to_pass: &task.pass_to_pass,
    };
    let failed = grade(&hidden, &task.base, &Fixed(None), &Limits::default()).unwrap();
    assert_eq!(json!(failed.grade == Grade::Infra), case["expect"]["infra_flag"]);
    assert!(failed.fault.as_ref().unwrap().contains(case["given"]["log"].as_str().unwrap()));
    assert_eq!(reward(&failed, Exit::Final), None);
    let mut tally = Tally::default();
    tally.add(failed.grade);
    tally.add(Grade::Resolved);
    assert_eq!(json!(tally.trajectories == 2), case["expect"]["counts_in_denominator"]);
    assert_eq!((tally.infra, tally.solve_rate()), (1, 0.5));
}

/// Tests that never end are stopped: an error of its own kind, never resolved, and the report says which test it was.
pub(super) fn tests_that_never_end(case: &Value) {
    let task = Task::new("while True: pass");
    let graded = task.graded(&task.base);
    assert_eq!(case["expect"]["status"], "error");
    assert_eq!(graded.grade, Grade::Exhausted);
    assert_eq!(json!(graded.grade == Grade::Resolved), case["expect"]["resolved"]);
    assert_eq!(reward(&graded, Exit::Final), Some(0.0));
    assert_eq!(graded.failing, task.fail_to_pass);
    assert!(matches!(graded.report.status(&task.fail_to_pass[0]), Some(TestStatus::Failed { .. })));
    assert_eq!(graded.report.status(&task.pass_to_pass[0]), Some(&TestStatus::Passed));
}
