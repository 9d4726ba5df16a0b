//! What the embedded world promises, over many draws.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use tadpole_scenarios::draws::{Draws as _, SeedDraws};
use tadpole_scenarios::world::{
    Blueprint, BugFacts, Direction, Example, Operator, Outcome, Project, PythonSource, Split, StatementFacts,
    TestCase, WorldSpec, mutants, normalised, statement, test_file, test_path,
};

fn projects(split: Split, count: usize) -> impl Iterator<Item = (Blueprint, Project)> {
    let spec = WorldSpec::default();
    let mut draws = SeedDraws::new(11, "projects");
    (0..count).map(move |_| {
        let blueprint = Blueprint::draw(&spec, split, &mut draws);
        let project = blueprint.project(&spec).unwrap();
        (blueprint, project)
    })
}

/// A blueprint of a fixed seed.
fn blueprint(seed: u64, functions: u32, modules: u32, bugs: u32) -> Blueprint {
    Blueprint {
        seed,
        split: Split::Train,
        stratum: "s".into(),
        level: 1,
        functions,
        modules,
        bugs,
        kept: Vec::new(),
    }
}

fn project(blueprint: &Blueprint) -> Project {
    blueprint.project(&WorldSpec::default()).unwrap()
}

#[test]
fn held_out_programs_never_occur_in_training() {
    let forms = |split, count| -> BTreeSet<String> {
        let functions = projects(split, count).flat_map(|(_, project)| project.functions);
        functions.map(|function| normalised(&function.source)).collect()
    };
    let training = forms(Split::Train, 3000);
    assert!(training.len() > 4000, "the sample is large: {}", training.len());
    for split in [Split::UnseenParameters, Split::UnseenTemplates] {
        let held_out = forms(split, 1000);
        assert!(held_out.len() > 1000, "{split:?}: {}", held_out.len());
        let shared: Vec<&String> = held_out.intersection(&training).collect();
        assert!(shared.is_empty(), "{split:?}: {shared:?}");
    }
}

#[test]
fn templates_are_thirty_and_more_in_training_and_six_and_more_beyond() {
    let templates = |split| -> BTreeSet<String> {
        projects(split, 600)
            .flat_map(|(_, project)| project.functions)
            .map(|function| function.template)
            .collect()
    };
    let (training, parameters) = (templates(Split::Train), templates(Split::UnseenParameters));
    let unseen = templates(Split::UnseenTemplates);
    assert!(training.len() >= 30, "{}", training.len());
    assert!(unseen.len() >= 6, "{}", unseen.len());
    assert_eq!(training, parameters);
    assert!(training.is_disjoint(&unseen));
}

#[test]
fn projects_are_what_their_blueprint_asks_for() {
    for split in [Split::Train, Split::UnseenParameters, Split::UnseenTemplates] {
        for (blueprint, project) in projects(split, 150) {
            assert!(project.functions.len() >= blueprint.functions as usize);
            assert!(project.functions.len() <= blueprint.functions.max(2 * blueprint.bugs) as usize);
            assert!(project.modules.len() <= blueprint.modules as usize);
            assert_eq!(project.targets.len(), blueprint.bugs as usize);
            let names: BTreeSet<&str> =
                project.functions.iter().map(|function| function.name.as_str()).collect();
            assert_eq!(names.len(), project.functions.len(), "names are unique");
            check_functions(&project);
            check_imports(&project);
        }
    }
}

fn check_functions(project: &Project) {
    for function in &project.functions {
        let text = project.tree.text(&function.path()).unwrap();
        let from_line: Vec<&str> = text.split_inclusive('\n').skip(function.line as usize - 1).collect();
        assert!(from_line.concat().starts_with(&function.source), "{} begins at its line", function.name);
        assert_eq!(PythonSource::parse(&function.source).unwrap().functions(), [function.name.as_str()]);
        assert_eq!((function.visible.len(), function.hidden.len()), (3, 6), "{}", function.template);
        let calls: BTreeSet<&String> = function.visible.iter().chain(&function.hidden).collect();
        assert_eq!(calls.len(), 9, "calls are distinct: {calls:?}");
        assert!(calls.iter().all(|call| call.starts_with(&format!("{}(", function.name))));
        assert!(
            function.source.lines().all(|line| line.len() <= 100),
            "lines are short: {}",
            function.source
        );
        assert!(function.source.lines().count() <= 14, "functions are short: {}", function.source);
        assert!(function.uses.iter().all(|used| function.doc.contains(used)), "{}", function.doc);
    }
}

fn check_imports(project: &Project) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for module in &project.modules {
        let text = project.tree.text(&format!("{module}.py")).unwrap();
        for line in text.lines().filter_map(|line| line.strip_prefix("from ")) {
            let (from, _) = line.split_once(" import ").unwrap();
            assert!(seen.contains(from), "{module} imports {from}, which comes later");
        }
        seen.insert(module);
    }
}

#[test]
fn some_projects_call_across_modules() {
    let crossing = projects(Split::Train, 200).filter(|(_, project)| {
        project
            .modules
            .iter()
            .any(|module| project.tree.text(&format!("{module}.py")).unwrap().contains("import"))
    });
    assert!(crossing.count() > 20);
}

#[test]
fn a_seed_has_one_bug_whatever_is_around_it() {
    for seed in 0..40 {
        for bugs in 1..=2 {
            let bug = |functions, modules, level| {
                let project = project(&Blueprint { level, ..blueprint(seed, functions, modules, bugs) });
                let faulted = project.faults().unwrap().next().unwrap();
                let of_fault = |fault: &tadpole_scenarios::world::Fault| {
                    let function = &project.functions[fault.function];
                    (
                        fault.mutant.clone(),
                        function.visible.clone(),
                        function.hidden.clone(),
                        function.uses.clone(),
                    )
                };
                faulted.faults.iter().map(of_fault).collect::<Vec<_>>()
            };
            let least = bug(1, 1, 0);
            assert_eq!(least, bug(12, 3, 4), "seed {seed}");
            assert_eq!(least, bug(5, 2, 2), "seed {seed}");
        }
    }
}

#[test]
fn more_functions_leave_those_that_are_there() {
    let sources = |functions| -> BTreeSet<String> {
        project(&blueprint(5, functions, 2, 1))
            .functions
            .into_iter()
            .map(|function| function.source)
            .collect()
    };
    assert!(sources(4).is_subset(&sources(9)));
}

#[test]
fn faults_change_the_files_that_gold_restores_and_lie_on_their_line() {
    for (_, project) in projects(Split::Train, 60) {
        for faulted in project.faults().unwrap().take(6) {
            assert_eq!(faulted.tree.overlaid(&faulted.gold), project.tree);
            assert_eq!(faulted.faults.len(), project.targets.len());
            for (bug, fault) in faulted.faults.iter().enumerate() {
                assert!(faulted.changed().any(|path| path == fault.path));
                let text = faulted.tree.text(&fault.path).unwrap();
                if let Some(after) = &fault.mutant.after {
                    let line = text.lines().nth(fault.line as usize - 1).unwrap_or_default();
                    assert_eq!(line.trim(), after);
                }
                assert_ne!(faulted.alone(&project, bug).unwrap(), project.tree);
            }
        }
    }
}

#[test]
fn every_operator_occurs_and_wrong_variables_keep_to_their_share() {
    let spec = WorldSpec { wrong_variable_share: 0.1, ..WorldSpec::default() };
    let mut counts: BTreeMap<Operator, u32> = BTreeMap::new();
    let mut draws = SeedDraws::new(3, "operators");
    for _ in 0..800 {
        let drawn = Blueprint::draw(&spec, Split::Train, &mut draws);
        let project = drawn.project(&spec).unwrap();
        for fault in project.faults().unwrap().next().unwrap().faults {
            *counts.entry(fault.operator).or_default() += 1;
        }
    }
    let total: u32 = counts.values().sum();
    assert_eq!(counts.len(), Operator::ALL.len(), "{counts:?}");
    assert!(f64::from(counts[&Operator::WrongVariable]) < 0.14 * f64::from(total), "{counts:?}");
}

#[test]
fn drawing_is_a_pure_function_of_the_seed() {
    let digests = || -> Vec<[u8; 32]> {
        projects(Split::Train, 30).map(|(_, project)| project.tree.digest()).collect()
    };
    assert_eq!(digests(), digests());
    assert_eq!(SeedDraws::new(1, "a").next_u64(), 17_599_519_995_904_708_921);
}

#[test]
fn refined_tasks_can_always_be_made() {
    let spec = WorldSpec::default();
    for (mut blueprint, _) in projects(Split::UnseenTemplates, 40) {
        while let Some(harder) = blueprint.refine(Direction::Harder) {
            harder.project(&spec).unwrap();
            blueprint = harder;
        }
    }
}

#[test]
fn a_refined_task_has_the_bugs_that_it_had_but_for_one_less_or_more() {
    let spec = WorldSpec::default();
    let mut tried = 0;
    for seed in 0..40 {
        for direction in [Direction::Easier, Direction::Harder] {
            let start = match direction {
                Direction::Easier => blueprint(seed, 8, 3, 2),
                Direction::Harder => blueprint(seed, 2, 1, 1),
            };
            let laid_out = project(&start);
            // Not the first of the draw's faults, which a project that knew nothing of them would choose again.
            let Some(had) = laid_out.faults().unwrap().nth(2) else { continue };
            let choices = |of: &tadpole_scenarios::world::FaultedProject| {
                of.faults.iter().map(|fault| fault.choice).collect()
            };
            let mut task = Blueprint { kept: choices(&had), ..start };
            let first = task.refine(direction).expect("a bug can go or come");
            assert_eq!(first.bugs.abs_diff(task.bugs), 1, "the strongest lever comes first");
            tried += 1;
            while let Some(refined) = task.refine(direction) {
                let refined_project = refined.project(&spec).unwrap();
                for has in refined_project.faults().unwrap().take(4) {
                    assert_eq!(has.faults.len(), refined.bugs as usize);
                    let both = has.faults.iter().zip(&had.faults).take(refined.kept.len());
                    for (has, had) in both {
                        assert_eq!((&has.mutant, has.choice), (&had.mutant, had.choice));
                    }
                }
                // As a run goes on: from what the task has.
                let has = refined_project.faults().unwrap().next().expect("it has a way to be faulty");
                task = Blueprint { kept: choices(&has), ..refined };
            }
        }
    }
    assert!(tried > 60, "only {tried} of 80 were tried");
}

/// Modules of a project, then its tests with made-up results.
fn rendered(project: &Project) -> String {
    let mut text = String::new();
    for (path, _) in project.tree.iter() {
        writeln!(text, "# {path}\n{}", project.tree.text(path).unwrap()).unwrap();
    }
    for module in &project.modules {
        let functions = project.functions.iter().filter(|function| function.module == *module);
        let cases: Vec<TestCase> = functions
            .flat_map(|function| {
                function.visible.iter().enumerate().map(|(index, call)| TestCase {
                    function: function.name.clone(),
                    number: index as u32 + 1,
                    call: call.clone(),
                    expected: "...".into(),
                })
            })
            .collect();
        writeln!(text, "# {}\n{}", test_path(module), test_file(module, &cases)).unwrap();
    }
    text
}

#[test]
fn projects_read_as_they_did() {
    insta::assert_snapshot!("project_of_one_module", rendered(&project(&blueprint(1, 2, 1, 1))));
    insta::assert_snapshot!("project_across_modules", rendered(&project(&blueprint(2, 6, 3, 2))));
    let unseen = Blueprint { split: Split::UnseenTemplates, ..blueprint(4, 4, 2, 1) };
    insta::assert_snapshot!("project_of_unseen_templates", rendered(&project(&unseen)));
}

#[test]
fn statements_read_as_they_did() {
    let project = project(&blueprint(6, 4, 2, 2));
    let faulted = project.faults().unwrap().next().unwrap();
    let outcomes = [Outcome::Value("4".into()), Outcome::Error("TypeError: bad operand".into())];
    let bugs: Vec<BugFacts> = faulted
        .faults
        .iter()
        .zip(outcomes)
        .map(|(fault, outcome)| {
            let call = project.functions[fault.function].visible[0].clone();
            BugFacts::new(&project, fault, Example { call, expected: "3".into(), outcome })
        })
        .collect();
    let mut gap = bugs[0].clone();
    gap.line = None;
    gap.example.outcome = Outcome::Endless;
    let told = [vec![bugs[0].clone()], vec![gap], bugs];
    let mut text = String::new();
    for level in 0..5 {
        for bugs in &told {
            let facts = StatementFacts { bugs: bugs.clone() };
            let phrasings: BTreeSet<String> =
                (0..20).map(|seed| statement(level, &facts, &mut SeedDraws::new(seed, "phrasing"))).collect();
            let shown = phrasings.iter().take(3).map(|phrasing| format!("level {level}: {phrasing}\n"));
            text.extend(shown);
        }
    }
    insta::assert_snapshot!("statements", text);
}

#[test]
fn statements_do_not_name_what_their_level_keeps_back() {
    for (blueprint, project) in projects(Split::Train, 100) {
        let faulted = project.faults().unwrap().next().unwrap();
        let bugs = faulted.faults.iter().map(|fault| {
            let call = project.functions[fault.function].visible[0].clone();
            BugFacts::new(
                &project,
                fault,
                Example { call, expected: "1".into(), outcome: Outcome::Value("2".into()) },
            )
        });
        let facts = StatementFacts { bugs: bugs.collect() };
        for level in 0..5 {
            let text = Blueprint { level, ..blueprint.clone() }.statement(&facts);
            assert!(text.len() < 400, "{text}");
            for bug in &facts.bugs {
                assert_eq!(text.contains(&bug.function), level <= 2, "level {level}: {text}");
                assert_eq!(text.contains(&bug.path), level != 2 && level != 4, "level {level}: {text}");
            }
        }
    }
}

const SAMPLE: &str = "\
def pick(items, low, n=0):
    \"\"\"Doc.\"\"\"
    out = []
    for x in items[n:]:
        if x >= low and not x == 7:
            out.append(max(x - 1, low))
        elif x < -2:
            continue
        else:
            out += [\"a\"]
    return out if n else out[:low]
";

#[test]
fn mutants_of_a_function_are_as_they_were() {
    let all = mutants(SAMPLE, "pick").unwrap();
    let lines: Vec<String> = all
        .iter()
        .map(|mutant| {
            format!(
                "{:>2} {:<18} {}",
                mutant.line,
                mutant.operator.name(),
                mutant.description.replace('\n', "\\n")
            )
        })
        .collect();
    insta::assert_snapshot!("mutants", lines.join("\n"));
    let operators: BTreeSet<Operator> = all.iter().map(|mutant| mutant.operator).collect();
    assert!(operators.len() >= 11, "{operators:?}");
}

#[test]
fn all_mutants_of_all_templates_parse() {
    let mut functions: BTreeMap<String, (String, String)> = BTreeMap::new();
    for split in [Split::Train, Split::UnseenTemplates] {
        for (_, project) in projects(split, 250) {
            for function in project.functions {
                functions.entry(function.template).or_insert((function.name, function.source));
            }
        }
    }
    assert!(functions.len() >= 36, "{}", functions.len());
    for (template, (name, source)) in functions {
        let all = mutants(&source, &name).unwrap();
        assert!(all.len() >= 8, "{template}: {}", all.len());
        for mutant in all {
            assert!(
                PythonSource::parse(&mutant.source).is_ok(),
                "{template}: {}\n{}",
                mutant.description,
                mutant.source
            );
        }
    }
}
