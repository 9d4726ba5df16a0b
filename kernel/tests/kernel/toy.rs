//! A toy process: the shape of a real run (held-out tasks, a curriculum, updates with blobs, effects), decided by coin
//! tosses. Random, deterministic, a few dozen steps, every kind of event.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bevy_ecs::prelude::Res;
use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::decide::{Context, DecideResult, Decision, Keep, Systems};
use tadpole_kernel::draws::{Stream, StreamKey};
use tadpole_kernel::driver::Kernel;
use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::event::*;
use tadpole_kernel::id::{Digest, Iteration, Member, StableId, Version, Visit};
use tadpole_kernel::run::{RunHeader, RunReader};
use tadpole_kernel::world::{Phase, Status, WorldView};

pub(crate) const SCENARIO: &str = "name = \"toy\"\n";

pub(crate) fn header() -> RunHeader {
    RunHeader { scenario: Digest::of(SCENARIO.as_bytes()), arithmetic: 1, seed: 28, iterations: 2 }
}

pub(crate) fn systems() -> Systems {
    let mut systems = Systems::new(next);
    systems
        .add("open", open)
        .add("evaluate", evaluate)
        .add("finish_iteration", finish_iteration)
        .add("start_iteration", start_iteration)
        .add("curriculum", curriculum)
        .add("train", train)
        .add("finish_run", finish_run);
    systems
}

pub(crate) fn systems_that_keep(keep: Keep) -> Systems {
    let mut systems = systems();
    systems.keep(keep);
    systems
}

/// The toy under another rule: what is admitted counts as out of band.
pub(crate) fn generous() -> Systems {
    let mut systems = systems_that_keep(Keep::All);
    systems.add("curriculum", |view: WorldView| {
        let mut decision = curriculum(view)?;
        for event in &mut decision.events {
            if let Event::TaskAdmitted(it) = event {
                it.in_band = !it.in_band;
            }
        }
        Ok(decision)
    });
    systems
}

/// A run in a directory of its own, driven to its end.
pub(crate) fn finished() -> (tempfile::TempDir, PathBuf) {
    let (temp, dir) = place();
    Kernel::create(&dir, SCENARIO, header(), systems()).unwrap().run(|_| {}).unwrap();
    (temp, dir)
}

pub(crate) fn place() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    (temp, dir)
}

/// What must be equal between equal runs: the bytes of `log/`, the blobs, the effects.
pub(crate) fn content(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for part in ["log", "blobs", "effects"] {
        collect(dir, &dir.join(part), &mut found);
    }
    found
}

fn collect(root: &Path, at: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(at) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, found);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.insert(name, fs::read(path).unwrap());
        }
    }
}

/// Requires equal content, naming what differs.
pub(crate) fn assert_same_content(left: &Path, right: &Path) {
    let (left, right) = (content(left), content(right));
    let names = |content: &BTreeMap<String, Vec<u8>>| content.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&left), names(&right));
    for (name, bytes) in &left {
        assert!(bytes == &right[name], "{name} differs");
    }
}

/// The first event of a finished run that `picks`, as (step, index).
pub(crate) fn find(dir: &Path, picks: impl Fn(&Event) -> bool) -> (tadpole_kernel::id::Step, usize) {
    let run = RunReader::open(dir).unwrap();
    for group in run.groups().unwrap() {
        let group = group.unwrap();
        if let Some(index) = group.events().position(|event| picks(&event.unwrap())) {
            return (group.commit().step, index);
        }
    }
    panic!("no such event");
}

fn next(view: &WorldView<'_>) -> Option<&'static str> {
    let run = view.progress();
    match run.phase {
        Phase::Opening => Some("open"),
        Phase::Evaluating if run.evaluated.is_empty() => Some("evaluate"),
        Phase::Evaluating if run.iteration > Iteration(0) && !run.iteration_finished => {
            Some("finish_iteration")
        }
        Phase::Evaluating if run.iteration.0 < run.iterations => Some("start_iteration"),
        Phase::Evaluating => Some("finish_run"),
        Phase::Curriculum => Some("curriculum"),
        Phase::Training => Some("train"),
        Phase::Refused | Phase::Finished => None,
    }
}

fn stream(view: &WorldView<'_>, purpose: &'static str, turn: u32) -> Stream {
    let run = view.progress();
    let key = StreamKey { iteration: run.iteration, turn, ..StreamKey::new(purpose) };
    Stream::new(run.seed, &key)
}

fn random_bytes(stream: &mut Stream, length: usize) -> Vec<u8> {
    (0..length.div_ceil(8)).flat_map(|_| stream.next_u64().to_le_bytes()).take(length).collect()
}

fn task_content(decision: &mut Decision, stream: &mut Stream) -> TaskContent {
    let seed = stream.next_u64();
    // Every other snapshot is too large for its event.
    let large = if seed.is_multiple_of(2) { INLINE_LIMIT } else { 20 };
    let snapshot = random_bytes(stream, large);
    TaskContent {
        digest: Digest::of(&snapshot),
        origin: Origin {
            generator: "toy".to_owned(),
            seed,
            stratum: "s1".to_owned(),
            level: (seed % 4) as u8,
            operators: vec!["comparison".to_owned()],
            templates: vec!["median".to_owned(), "mode".to_owned()],
            faults: Vec::new(),
            functions: 3,
            modules: 1,
        },
        statement: format!("Mend fault {seed}."),
        snapshot: decision.bulk(snapshot),
        gold: decision.bulk(vec![1, 2, 3]),
        tests: decision.bulk(vec![4, 5]),
    }
}

fn open(view: WorldView) -> DecideResult {
    let mut decision = Decision::new();
    let mut stream = stream(&view, "open", 0);
    let id = view.progress().next_id;
    let weights = decision.blob(random_bytes(&mut stream, 1000));
    decision.push(Event::PolicyPublished(PolicyPublishedV1 {
        policy: id,
        iteration: Iteration(0),
        weights,
        averaged: 1,
    }));
    for (task, set) in [(id.next(), "parameters"), (id.next().next(), "templates")] {
        let content = task_content(&mut decision, &mut stream);
        decision.push(Event::TaskHeldOut(TaskHeldOutV1 {
            task,
            set: set.to_owned(),
            content,
            fail_to_pass: vec!["t::a".to_owned()],
            pass_to_pass: vec!["t::b".to_owned(), "t::c".to_owned()],
        }));
    }
    decision.count(&stream);
    Ok(decision)
}

struct Play {
    id: StableId,
    subject: StableId,
    purpose: Purpose,
    version: Version,
    visit: Visit,
    member: Member,
}

fn play(view: &WorldView<'_>, decision: &mut Decision, stream: &mut Stream, play: &Play) -> Event {
    let sampled = 1 + stream.below(5) as u32;
    let solved = stream.below(2) == 1;
    let tokens: Vec<u32> = (0..4 + sampled).map(|_| stream.below(640) as u32).collect();
    let reward = f32::from(u8::from(solved));
    Event::TrajectoryFinished(TrajectoryFinishedV1 {
        trajectory: play.id,
        subject: play.subject,
        purpose: play.purpose,
        iteration: view.progress().iteration,
        version: play.version,
        visit: play.visit,
        member: play.member,
        segments: vec![Segment {
            tokens: Tokens::pack(&tokens, if solved { 640 } else { 100_000 }),
            sampled: vec![Span { start: 4, end: 4 + sampled }],
            log_probs: (0..sampled).map(|_| -(stream.uniform() as f32)).collect(),
        }],
        exit: if solved { Exit::Final } else { Exit::MaxTurns },
        facts: Facts {
            grade: if solved { Grade::Resolved } else { Grade::Unresolved },
            ran_tests: true,
            tampered: false,
            leaked: false,
        },
        raw_reward: reward,
        reward,
        entropy: 0.25,
        tool_calls: sampled,
        patch: decision.bulk(vec![9; sampled as usize]),
    })
}

fn evaluate(view: WorldView, effects: Res<EffectStore>) -> DecideResult {
    let run = view.progress();
    let mut decision = Decision::new();
    let mut stream = stream(&view, "evaluate", 0);
    let request = format!("weather at {}", run.iteration);
    let answer = effects.serve("weather", request.as_bytes(), || Ok::<_, std::io::Error>(b"fair".to_vec()));
    let answer = answer.context("asking for the weather")?;
    decision.push(answer.event);
    let mut id = run.next_id;
    for (subject, _) in view.tasks().take(2) {
        let event = play(
            &view,
            &mut decision,
            &mut stream,
            &Play {
                id,
                subject,
                purpose: Purpose::Evaluation,
                version: Version(0),
                visit: Visit(0),
                member: Member(0),
            },
        );
        decision.push(event);
        id = id.next();
    }
    decision.push(Event::EvaluationFinished(EvaluationFinishedV1 {
        iteration: run.iteration,
        set: "parameters".to_owned(),
        temperature: 0.6,
        tasks: 2,
        samples: 1,
        solved: 1,
        pass_at: vec![PassAt { k: 1, value: 0.5 }],
        low: 0.1,
        high: 0.9,
        entropy: 0.25,
        tokens_mean: 3.5 + answer.bytes.len() as f64,
    }));
    decision.count(&stream);
    Ok(decision)
}

fn start_iteration(view: WorldView) -> DecideResult {
    let run = view.progress();
    let mut decision = Decision::new();
    let policy = run.policy.context_none("a published policy")?;
    decision.push(Event::IterationStarted(IterationStartedV1 { iteration: run.iteration.next(), policy }));
    Ok(decision)
}

/// One move of the funnel: what is open is validated, looked at, then admitted, refined or rejected.
fn curriculum(view: WorldView) -> DecideResult {
    let run = view.progress();
    let mut decision = Decision::new();
    let mut stream = stream(&view, "curriculum", run.next_id.0 as u32);
    let open =
        run.open.iter().copied().find(|&id| view.candidate(id).is_some_and(|it| it.succeeded_by.is_none()));
    match open {
        _ if run.batch.len() >= 2 => close_batch(&view, &mut decision),
        None => generate(&view, &mut decision, &mut stream, run.draws, None),
        Some(id) => advance(&view, &mut decision, &mut stream, id)?,
    }
    decision.count(&stream);
    Ok(decision)
}

fn close_batch(view: &WorldView<'_>, decision: &mut Decision) {
    let run = view.progress();
    for &candidate in &run.open {
        let reason = Rejection::NotNeeded;
        decision.push(Event::CandidateRejected(CandidateRejectedV1 { candidate, reason }));
    }
    let tasks = run.batch.iter().rev().copied().collect();
    decision.push(Event::BatchClosed(BatchClosedV1 { iteration: run.iteration, tasks, budget_spent: false }));
}

fn generate(
    view: &WorldView<'_>,
    decision: &mut Decision,
    stream: &mut Stream,
    draw: u32,
    refined: Option<Refinement>,
) {
    let run = view.progress();
    let content = task_content(decision, stream);
    decision.push(Event::CandidateGenerated(CandidateGeneratedV1 {
        candidate: run.next_id,
        iteration: run.iteration,
        draw,
        attempt: 0,
        refined,
        content,
    }));
}

fn advance(
    view: &WorldView<'_>,
    decision: &mut Decision,
    stream: &mut Stream,
    candidate: StableId,
) -> Result<(), tadpole_kernel::decide::DecideError> {
    let known = view.candidate(candidate).context_none("an open candidate")?;
    if known.status == Status::Generated {
        decision.push(Event::CandidateValidated(CandidateValidatedV1 {
            candidate,
            fail_to_pass: vec!["t::x".to_owned()],
            pass_to_pass: Vec::new(),
        }));
        return Ok(());
    }
    if known.looks.is_empty() {
        look(view, decision, stream, candidate);
        return Ok(());
    }
    let (passed, sampled) = known.looks[0];
    let depth = known.refined.as_ref().map_or(0, |it| it.depth);
    if passed == 0 && depth == 0 {
        let refinement = Refinement { parent: candidate, direction: Direction::Easier, depth: 1 };
        generate(view, decision, stream, known.draw, Some(refinement));
    } else if passed == sampled {
        let reason = Rejection::TooEasy;
        decision.push(Event::CandidateRejected(CandidateRejectedV1 { candidate, reason }));
    } else {
        let task = view.progress().next_id;
        let in_band = passed > 0;
        decision.push(Event::TaskAdmitted(TaskAdmittedV1 { task, candidate, passed, sampled, in_band }));
    }
    Ok(())
}

fn look(view: &WorldView<'_>, decision: &mut Decision, stream: &mut Stream, candidate: StableId) {
    let mut id = view.progress().next_id;
    let mut passed = 0;
    for member in 0..2 {
        let setup = Play {
            id,
            subject: candidate,
            purpose: Purpose::Calibration,
            version: Version(0),
            visit: Visit(0),
            member: Member(member),
        };
        let event = play(view, decision, stream, &setup);
        if let Event::TrajectoryFinished(it) = &event {
            passed += u32::from(it.facts.grade == Grade::Resolved);
        }
        decision.push(event);
        id = id.next();
    }
    let look = Visit(0);
    decision.push(Event::CandidateCalibrated(CandidateCalibratedV1 { candidate, look, passed, sampled: 2 }));
}

const UPDATES: u32 = 3;

/// Rollouts and an update whose weights depend on the bytes of the last ones; publication after the last.
fn train(view: WorldView, blobs: Res<BlobReader>) -> DecideResult {
    let run = view.progress();
    let mut decision = Decision::new();
    let mut stream = stream(&view, "train", run.updates);
    let latest = run.versions.last().copied().and_then(|id| view.policy(id)).context_none("a policy")?;
    let weights = blobs.read(latest.weights).context("reading weights")?;
    if run.updates == UPDATES {
        let weights = decision.blob(mix(&weights, &mut stream));
        decision.push(Event::PolicyPublished(PolicyPublishedV1 {
            policy: run.next_id,
            iteration: run.iteration,
            weights,
            averaged: 2,
        }));
        decision.count(&stream);
        return Ok(decision);
    }
    let state = latest.state.map(|state| blobs.read(state)).transpose().context("reading moments")?;
    let groups = rollouts(&view, &mut decision, &mut stream);
    let weights = decision.blob(mix(&weights, &mut stream));
    let state = decision.blob(mix(state.as_deref().unwrap_or(&[0; 500]), &mut stream));
    let policy = StableId(run.next_id.0 + 2 * run.batch.len() as u64);
    decision.push(Event::UpdateApplied(UpdateAppliedV1 {
        policy,
        iteration: run.iteration,
        update: run.updates,
        trained_on: Version(run.updates.saturating_sub(1)),
        weights,
        state,
        groups,
        tokens: 20,
        kept: 19,
        loss: -0.125,
        gradient_norm: 0.5,
        learning_rate: 1.5e-4,
        ratio_max: 1.25,
        kl: 0.002,
        entropy: 0.25,
    }));
    decision.count(&stream);
    Ok(decision)
}

fn rollouts(view: &WorldView<'_>, decision: &mut Decision, stream: &mut Stream) -> Vec<Group> {
    let run = view.progress();
    let mut id = run.next_id;
    let mut groups = Vec::new();
    for &task in &run.batch {
        let mut group = Group { task, trajectories: Vec::new(), discarded: stream.below(2) == 0 };
        for member in 0..2 {
            let setup = Play {
                id,
                subject: task,
                purpose: Purpose::Rollout,
                version: Version(run.updates.saturating_sub(1)),
                visit: Visit(run.updates),
                member: Member(member),
            };
            let event = play(view, decision, stream, &setup);
            decision.push(event);
            group.trajectories.push(id);
            id = id.next();
        }
        groups.push(group);
    }
    groups
}

fn mix(bytes: &[u8], stream: &mut Stream) -> Vec<u8> {
    bytes.iter().map(|byte| byte.wrapping_add(stream.next_u64() as u8)).collect()
}

fn finish_iteration(view: WorldView) -> DecideResult {
    let mut decision = Decision::new();
    let iteration = view.progress().iteration;
    decision.push(Event::IterationFinished(IterationFinishedV1 { iteration }));
    Ok(decision)
}

fn finish_run(view: WorldView) -> DecideResult {
    let mut decision = Decision::new();
    let policy = view.progress().policy.context_none("a published policy")?;
    decision.push(Event::RunFinished(RunFinishedV1 { policy }));
    Ok(decision)
}

trait ContextNone<T> {
    fn context_none(self, what: &str) -> Result<T, tadpole_kernel::decide::DecideError>;
}

impl<T> ContextNone<T> for Option<T> {
    fn context_none(self, what: &str) -> Result<T, tadpole_kernel::decide::DecideError> {
        self.ok_or_else(|| tadpole_kernel::decide::DecideError::new(format!("there is no {what}")))
    }
}
