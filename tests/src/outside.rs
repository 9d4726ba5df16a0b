//! A generator outside: tasks of a run, handed over again by a process that answers from a script.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::event::{CandidateGeneratedV1, Direction, Event, TaskContent};
use tadpole_kernel::id::StableId;
use tadpole_kernel::run::RunReader;
use tadpole_scenarios::repository::Tree;
use tadpole_scenarios::schema::{GeneratorKind, Scenario};

/// Names the request at which the process kills whoever asks it, counted from 1.
pub const KILLS_AT: &str = "SCRIPTED_GENERATOR_KILLS_AT";

/// A scenario whose tasks come from the scripted process.
#[derive(Clone, Debug)]
pub struct Outside {
    /// The scenario.
    pub scenario: Scenario,
    script: PathBuf,
    ledger: PathBuf,
}

impl Outside {
    /// `scenario`, with the tasks of `run` from the process `program`; script and ledger lie in `directory`.
    ///
    /// # Panics
    /// Where the run cannot be read or the script not be written.
    pub fn new(scenario: &Scenario, run: &Path, program: &str, directory: &Path) -> Self {
        let (script, ledger) = (directory.join("script.json"), directory.join("ledger"));
        let text = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
        let mut scenario = scenario.clone();
        scenario.generator.kind = GeneratorKind::Process;
        scenario.generator.command = vec![program.to_owned(), text(&script), text(&ledger)];
        let outside = Self { scenario, script, ledger };
        outside.answers(&script_of(run));
        outside
    }

    /// Has the process answer from another script.
    ///
    /// # Panics
    /// Where it cannot be written.
    pub fn answers(&self, script: &[Value]) {
        fs::write(&self.script, json!(script).to_string()).unwrap();
    }

    /// How often the process was asked so far.
    ///
    /// # Panics
    /// Where the ledger cannot be read.
    pub fn asked(&self) -> usize {
        if self.ledger.exists() { fs::read_to_string(&self.ledger).unwrap().lines().count() } else { 0 }
    }
}

/// Answers that hand over every candidate of `run` again, each to the request that asks for it. A refinement that the run did
/// not make is answered with `null`.
///
/// # Panics
/// Where the run cannot be read.
pub fn script_of(run: &Path) -> Vec<Value> {
    let blobs = RunReader::open(run).unwrap().blobs();
    let mut candidates: BTreeMap<StableId, TaskContent> = BTreeMap::new();
    let mut script = Vec::new();
    for (_, event) in crate::events(run) {
        let Event::CandidateGenerated(generated) = event else { continue };
        script.push(
            json!({"request": request(&generated, &candidates), "answer": task(&generated.content, &blobs)}),
        );
        candidates.insert(generated.candidate, generated.content);
    }
    script.push(json!({"request": {"request": "refine"}, "answer": null}));
    script
}

/// What a request for this candidate holds.
fn request(generated: &CandidateGeneratedV1, candidates: &BTreeMap<StableId, TaskContent>) -> Value {
    let Some(refinement) = &generated.refined else {
        return json!({"request": "generate", "iteration": generated.iteration, "index": generated.draw});
    };
    let direction = match refinement.direction {
        Direction::Easier => "easier",
        Direction::Harder => "harder",
    };
    let parent = &candidates[&refinement.parent].origin;
    json!({"request": "refine", "seed": parent.seed, "level": parent.level, "direction": direction})
}

/// A task, as the process spells it.
fn task(content: &TaskContent, blobs: &BlobReader) -> Value {
    let [files, gold, tests] = [&content.snapshot, &content.gold, &content.tests].map(|bulk| {
        let tree = Tree::from_canonical(&blobs.bulk(bulk).unwrap()).unwrap();
        let files = tree.paths().map(|path| (path.to_owned(), json!(tree.text(path).expect("a text"))));
        Value::Object(files.collect())
    });
    let origin = &content.origin;
    json!({
        "statement": content.statement, "files": files, "gold": gold, "tests": tests,
        "seed": origin.seed, "stratum": origin.stratum, "level": origin.level, "operators": origin.operators,
        "templates": origin.templates, "functions": origin.functions, "modules": origin.modules,
    })
}
