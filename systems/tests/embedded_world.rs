//! The embedded world in the sandbox: what the generator writes is what the interpreter can run.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use tadpole_scenarios::draws::SeedDraws;
use tadpole_scenarios::repository::Tree;
use tadpole_scenarios::world::{
    Blueprint, Project, Split, TestCase, WorldSpec, mutants, test_file, test_path,
};
use tadpole_systems::sandbox::{Limits, Sandbox, SandboxPool, Verdict};

fn project(number: u64) -> Project {
    let spec = WorldSpec::default();
    let blueprint = Blueprint::draw(&spec, Split::Train, &mut SeedDraws::new(number, "project"));
    blueprint.project(&spec).unwrap()
}

/// The tests of a project, with what its calls give now; and the tree with them.
fn with_tests(pool: &SandboxPool, project: &Project) -> (Tree, Vec<String>) {
    let mut tree = project.tree.clone();
    let mut files = Vec::new();
    for module in &project.modules {
        let mut cases = Vec::new();
        for function in project.functions.iter().filter(|function| function.module == *module) {
            let calls: Vec<String> = function.visible.iter().chain(&function.hidden).cloned().collect();
            let values = pool.evaluate(&project.tree, module, &calls, &Limits::default()).unwrap();
            for ((number, call), value) in (1..).zip(calls).zip(values) {
                let expected = value.unwrap_or_else(|error| panic!("{call}: {error}"));
                cases.push(TestCase { function: function.name.clone(), number, call, expected });
            }
        }
        let path = test_path(module);
        tree.insert_file(&path, test_file(module, &cases)).unwrap();
        files.push(path);
    }
    (tree, files)
}

#[test]
fn every_drawn_project_runs_and_passes_its_own_tests() {
    let pool = SandboxPool::in_process(1);
    for number in 0..60 {
        let (tree, files) = with_tests(&pool, &project(number));
        let report = pool.test(&tree, &files, &Limits::default()).unwrap();
        assert_eq!(report.passed(), report.tests.len(), "{report:#?}");
        assert!(!report.tests.is_empty());
    }
}

#[test]
fn every_mutant_ends_with_a_verdict_and_most_fail_a_test() {
    let pool = SandboxPool::in_process(1);
    let (mut failing, mut all, mut stopped) = (0, 0_usize, 0);
    for number in 0..12 {
        let project = project(number);
        let (tree, files) = with_tests(&pool, &project);
        let function = &project.functions[0];
        let path = format!("{}.py", function.module);
        let source = project.tree.text(&path).unwrap();
        for mutant in mutants(source, &function.name).unwrap() {
            let mut broken = tree.clone();
            broken.insert_file(&path, mutant.source.as_str()).unwrap();
            let report = pool.test(&broken, &files, &Limits::default()).unwrap();
            all += 1;
            failing += usize::from(report.passed() < report.tests.len());
            stopped += usize::from(report.verdict != Verdict::Completed);
            assert!(matches!(report.verdict, Verdict::Completed | Verdict::OutOfFuel | Verdict::OutOfMemory));
        }
    }
    println!("{all} mutants, {failing} fail a test, {stopped} stopped");
    assert!(failing * 10 > all * 8);
}
