//! Tasks from a process outside: every answer is recorded, and served from the record ever after.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use tadpole_kernel::driver::Kernel;
use tadpole_kernel::event::{Event, TrajectoryFinishedV1};
use tadpole_kernel::storage::faulty::{Fault, Machine, Survival};
use tadpole_scenarios::schema::{LastAdmission, Scenario};
use tadpole_systems::phase::name::GENERATE;
use tadpole_tests::bits::{Bits, assert_same};
use tadpole_tests::nano::{nano, run};
use tadpole_tests::outside::{KILLS_AT, Outside, script_of};
use tadpole_tests::{binary, bits, drive, events, machine};

const PROGRAM: &str = env!("CARGO_BIN_EXE_scripted_generator");

/// Nano with its tasks from outside, for runs in `directory`.
fn nano_from_outside(directory: &Path) -> Outside {
    Outside::new(&nano().scenario, run(), PROGRAM, directory)
}

/// The first iteration of nano alone.
fn one_iteration() -> Scenario {
    let mut scenario = nano().scenario.clone();
    scenario.iterations = 1;
    scenario.curriculum.admission_last = LastAdmission::Same;
    scenario
}

fn trajectories(events: impl IntoIterator<Item = Event>) -> Vec<TrajectoryFinishedV1> {
    let played = events.into_iter().filter_map(|event| match event {
        Event::TrajectoryFinished(played) => Some(played),
        _ => None,
    });
    played.collect()
}

/// The requests whose answers a run used, each once.
fn used(run: &Path) -> BTreeSet<String> {
    let requests = events(run).into_iter().filter_map(|(_, event)| match event {
        Event::EffectRecorded(effect) => Some(effect.request.to_string()),
        _ => None,
    });
    requests.collect()
}

/// Files of answers, whole or not.
fn stored(run: &Path) -> Vec<PathBuf> {
    let Ok(shelves) = fs::read_dir(run.join("effects")) else { return Vec::new() };
    let files = shelves.flat_map(|shelf| fs::read_dir(shelf.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

fn answers(run: &Path) -> usize {
    stored(run).iter().filter(|file| file.extension().is_none()).count()
}

#[test]
fn the_same_tasks_are_played_the_same_wherever_they_come_from() {
    let parent = tempfile::tempdir().unwrap();
    let outside = nano_from_outside(parent.path());
    let directory = parent.path().join("run");
    drive::complete(&outside.scenario, &directory, &drive::on_threads(2));
    let theirs = trajectories(events(&directory).into_iter().map(|(_, event)| event));
    assert_eq!(theirs, trajectories(nano().events.iter().map(|(_, event)| event.clone())));
    assert_eq!((used(&directory).len(), answers(&directory)), (outside.asked(), outside.asked()));
}

#[test]
fn verify_replay_and_resume_start_no_process() {
    let parent = tempfile::tempdir().unwrap();
    let outside = nano_from_outside(parent.path());
    let scenario = parent.path().join("mine.toml");
    fs::write(&scenario, outside.scenario.to_toml()).unwrap();
    let directory = parent.path().join("run");
    let [scenario, directory] = [&scenario, &directory].map(|path| path.to_str().unwrap());
    let _table =
        binary::run(["run", scenario, "--out", directory, "--set", "exec.progress=none"]).succeeded();
    let (asked, before) = (outside.asked(), Bits::of(Path::new(directory)));
    assert!(asked > 0);
    let verified = binary::run(["verify", directory, "--json"]).succeeded().json();
    assert_eq!(verified["differences"], json!([]));
    assert_eq!(verified["executed"], verified["steps"]);
    for words in [["replay", directory], ["resume", directory], ["show", directory]] {
        let _shown = binary::run(words).succeeded();
    }
    assert_eq!(outside.asked(), asked);
    assert!(Bits::of(Path::new(directory)) == before);
}

/// A run made in its scenario's directory, and one gone on with elsewhere.
#[test]
fn a_program_beside_the_scenario_is_found_from_there_alone_and_that_is_said() {
    let parent = tempfile::tempdir().unwrap();
    let mut outside = nano_from_outside(parent.path());
    fs::create_dir(parent.path().join("bin")).unwrap();
    fs::copy(PROGRAM, parent.path().join("bin/generator")).unwrap();
    outside.scenario.generator.command[0] = "bin/generator".to_owned();
    fs::write(parent.path().join("mine.toml"), outside.scenario.to_toml()).unwrap();
    // The script knows of no request: the run stops at its first task.
    outside.answers(&[]);
    let directory = parent.path().join("run");
    let name = directory.to_str().unwrap();
    let scenario = parent.path().join("mine.toml");
    let stopped = binary::run(["run", scenario.to_str().unwrap(), "--out", name]);
    assert_eq!(stopped.code, 1, "{stopped}");
    assert!(stopped.stderr.contains("ended with"), "{stopped}");
    let lost = binary::run(["resume", name]);
    assert_eq!(lost.code, 1, "{lost}");
    assert!(lost.stderr.contains("in the scenario's directory"), "{lost}");
    let found = binary::finish(binary::command(["resume", name]).current_dir(parent.path()));
    assert!(found.stderr.contains("ended with"), "{found}");
}

#[test]
fn a_refinement_that_is_refused_is_an_answer_too() {
    let parent = tempfile::tempdir().unwrap();
    let outside = Outside::new(&one_iteration(), run(), PROGRAM, parent.path());
    let mut script = script_of(run());
    script.retain(|line| line["request"]["request"] == "generate" || line["answer"].is_null());
    // What a refusal leaves of the budget goes to further draws.
    script.push(json!({"request": {"request": "generate"}, "answer": script[0]["answer"]}));
    outside.answers(&script);
    let directory = parent.path().join("run");
    drive::complete(&outside.scenario, &directory, &drive::on_threads(2));
    let refined = |event: &Event| matches!(event, Event::CandidateGenerated(it) if it.refined.is_some());
    assert!(!events(&directory).iter().any(|(_, event)| refined(event)));
    let generated = |event: &Event| matches!(event, Event::CandidateGenerated(_));
    let generated = events(&directory).iter().filter(|(_, event)| generated(event)).count();
    assert!(outside.asked() > generated, "nothing was refused");
    assert_eq!(used(&directory).len(), outside.asked());
}

/// Opens the run on a machine, with its lock in `lock`, and lets it decide one step.
fn one_step(outside: &Outside, machine: &Machine, lock: &Path) -> Outcome {
    let medium = Arc::new(machine.clone());
    let Ok(mut kernel) = drive::reopen_on(&outside.scenario, lock, &drive::on_threads(1), medium) else {
        return Outcome::NotOpened;
    };
    if kernel.step().is_ok() { Outcome::Committed } else { Outcome::Stopped }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    NotOpened,
    Stopped,
    Committed,
}

/// Drives a run up to the step that first asks outside.
fn up_to_the_first_request(outside: &Outside, run: &Path) {
    let mut kernel: Kernel = drive::start(&outside.scenario, run, &drive::on_threads(1));
    while kernel.next_system() != Some(GENERATE) {
        kernel.step().unwrap();
    }
}

/// The machine stops at every operation of the step that asks for the first two tasks: before, while and after either answer is
/// stored. What was stored is not asked for again, and the run goes on to the bytes of one that was never interrupted.
#[test]
fn a_crash_before_between_or_after_storing_answers_leads_to_the_same_bytes() {
    let parent = tempfile::tempdir().unwrap();
    let outside = Outside::new(&one_iteration(), run(), PROGRAM, parent.path());
    let [start, whole] = ["start", "whole"].map(|name| parent.path().join(name));
    up_to_the_first_request(&outside, &start);
    bits::copy(&start, &whole);
    drive::reopen(&outside.scenario, &whole, &drive::on_threads(1)).run(|_| {}).unwrap();
    let mut seen = BTreeSet::new();
    for (fault, survival) in [(Fault::Stop, Survival::Nothing), (Fault::StopHalfway, Survival::Everything)] {
        for operation in 0.. {
            let machine = machine::loaded(&start, |_| true);
            machine.plan(operation, fault);
            let lock = tempfile::tempdir().unwrap();
            match one_step(&outside, &machine, lock.path()) {
                Outcome::NotOpened => continue,
                Outcome::Committed => break,
                Outcome::Stopped => {}
            }
            machine.power_cycle(survival);
            let directory = parent.path().join(format!("{fault:?} {operation}"));
            machine::spill(&machine, &directory);
            let (stored, before) = (answers(&directory), outside.asked());
            let mut kernel = drive::reopen(&outside.scenario, &directory, &drive::on_threads(1));
            kernel.step().unwrap();
            assert_eq!(outside.asked() - before, 2 - stored, "{fault:?} at operation {operation}");
            if seen.insert(stored) {
                kernel.run(|_| {}).unwrap();
                drop(kernel);
                assert_same(&format!("{stored} answers stored"), &whole, &directory);
            } else {
                assert!(stored_alike(&directory, &whole), "{fault:?} at operation {operation}");
            }
        }
    }
    assert_eq!(seen, BTreeSet::from([0, 1, 2]), "answers stored when the machine stopped");
}

/// Whether the log of a run under way is how the log of the whole run begins.
fn stored_alike(run: &Path, whole: &Path) -> bool {
    let (part, whole) = (Bits::of(run), Bits::of(whole));
    part.log.iter().all(|(name, bytes)| whole.log[name].starts_with(bytes))
}

#[test]
fn killed_while_it_waits_for_an_answer_it_asks_again_and_goes_on_to_the_same_bytes() {
    let parent = tempfile::tempdir().unwrap();
    let outside = Outside::new(&one_iteration(), run(), PROGRAM, parent.path());
    let [whole, killed] = ["whole", "killed"].map(|name| parent.path().join(name));
    drive::complete(&outside.scenario, &whole, &drive::on_threads(2));
    let asked = outside.asked();
    let scenario = parent.path().join("mine.toml");
    fs::write(&scenario, outside.scenario.to_toml()).unwrap();
    let [scenario, name] = [&scenario, &killed].map(|path| path.to_str().unwrap());
    let start = ["run", scenario, "--threads", "1", "--out", name, "--set", "exec.progress=none"];
    let outcome = binary::finish(binary::command(start).env(KILLS_AT, (asked + 2).to_string()));
    assert_eq!((outcome.code, answers(&killed)), (-1, 1), "killed with one answer stored: {outcome}");
    let _table = binary::run(["resume", name]).succeeded();
    assert_same("killed and resumed", &whole, &killed);
    assert_eq!(outside.asked(), asked + asked + 1, "only the request in flight was repeated");
}

#[test]
fn what_is_no_task_is_refused_and_not_stored() {
    let parent = tempfile::tempdir().unwrap();
    let outside = Outside::new(&one_iteration(), run(), PROGRAM, parent.path());
    let directory = parent.path().join("run");
    up_to_the_first_request(&outside, &directory);
    let about = json!({"request": "generate"});
    let answers_refused = [
        (json!(null), "null answers a refinement only"),
        (json!({"statement": "Mend it."}), "missing field `files`"),
        (json!("a task"), "invalid type: string"),
    ];
    for (answer, reason) in answers_refused {
        outside.answers(&[json!({"request": about, "answer": answer})]);
        let failed = drive::reopen(&outside.scenario, &directory, &drive::on_threads(1)).step();
        let text = chain(&failed.expect_err("no task"));
        assert!(text.contains(reason) && text.contains("scripted_generator"), "{text}");
        assert!(stored(&directory).is_empty(), "{answer}");
    }
    outside.answers(&[]);
    let failed = drive::reopen(&outside.scenario, &directory, &drive::on_threads(1)).step();
    let text = chain(&failed.expect_err("it ended badly"));
    assert!(text.contains("ended with exit status: 1"), "{text}");
}

/// An error with everything behind it.
fn chain(error: &dyn std::error::Error) -> String {
    let all = std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string);
    all.collect::<Vec<_>>().join(": ")
}
