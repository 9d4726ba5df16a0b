//! A made-up run of the size of a full one.

use std::fs;
use std::path::{Path, PathBuf};

use rkyv::util::AlignedVec;
use tadpole_kernel::decide::{DecideResult, Decision, Systems};
use tadpole_kernel::draws::{Stream, StreamKey};
use tadpole_kernel::driver::Kernel;
use tadpole_kernel::event::*;
use tadpole_kernel::id::{Digest, Iteration, Member, StableId, Version, Visit};
use tadpole_kernel::run::RunHeader;
use tadpole_kernel::world::{Trajectory, WorldView};

const ITERATIONS: u32 = 5;
const TRAJECTORIES: u64 = 25_000;
/// Trajectories of one step.
const GROUP: u64 = 64;

/// A finished run: 25,000 trajectories of five iterations, 64 a step.
pub(crate) fn full() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    let header = RunHeader { scenario: Digest::of(b"bench"), arithmetic: 1, seed: 7, iterations: ITERATIONS };
    let mut systems = Systems::new(next);
    systems.add("turn", turn).add("play", play);
    Kernel::create(&dir, "name = \"bench\"\n", header, systems).unwrap().run(|_| {}).unwrap();
    (temp, dir)
}

/// Schema and body of 64 events.
pub(crate) fn bodies() -> Vec<(u16, AlignedVec)> {
    let mut stream = Stream::new(7, &StreamKey::new("bench"));
    let events = (0..GROUP).map(|member| trajectory(&mut stream, StableId(member + 1), member));
    events.map(|event| (event.schema(), event.encode().unwrap())).collect()
}

/// Bytes of a run's log.
pub(crate) fn log_bytes(dir: &Path) -> u64 {
    let files = fs::read_dir(dir.join("log")).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

fn due(view: &WorldView<'_>) -> u64 {
    u64::from(view.progress().iteration.0) * TRAJECTORIES / u64::from(ITERATIONS)
}

fn next(view: &WorldView<'_>) -> Option<&'static str> {
    let run = view.progress();
    let played = view.count::<Trajectory>() as u64;
    if run.iteration_finished && run.iteration.0 == run.iterations {
        return None;
    }
    Some(if run.iteration_finished || played >= due(view) { "turn" } else { "play" })
}

/// Ends an iteration, or starts the next.
fn turn(view: WorldView) -> DecideResult {
    let run = view.progress();
    let mut decision = Decision::new();
    let ends = run.iteration > Iteration(0) && !run.iteration_finished;
    decision.push(if ends {
        Event::IterationFinished(IterationFinishedV1 { iteration: run.iteration })
    } else {
        Event::IterationStarted(IterationStartedV1 { iteration: run.iteration.next(), policy: StableId(1) })
    });
    Ok(decision)
}

fn play(view: WorldView) -> DecideResult {
    let run = view.progress();
    let key = StreamKey { turn: run.next_id.0 as u32, ..StreamKey::new("play") };
    let mut stream = Stream::new(run.seed, &key);
    let mut decision = Decision::new();
    for member in 0..GROUP {
        decision.push(trajectory(&mut stream, StableId(run.next_id.0 + member), member));
    }
    Ok(decision)
}

/// 330 tokens, 60 of them sampled, and a small patch: the mean of a full run.
fn trajectory(stream: &mut Stream, trajectory: StableId, member: u64) -> Event {
    let tokens: Vec<u32> = (0..330).map(|_| stream.below(640) as u32).collect();
    Event::TrajectoryFinished(TrajectoryFinishedV1 {
        trajectory,
        subject: StableId(1 + trajectory.0 / 8 % 100),
        purpose: Purpose::Rollout,
        iteration: Iteration(1),
        version: Version(0),
        visit: Visit(0),
        member: Member(member as u32),
        segments: vec![Segment {
            tokens: Tokens::pack(&tokens, 640),
            sampled: vec![Span { start: 270, end: 330 }],
            log_probs: (0..60).map(|_| -(stream.uniform() as f32)).collect(),
        }],
        exit: Exit::Final,
        facts: Facts { grade: Grade::Resolved, ran_tests: true, tampered: false, leaked: false },
        raw_reward: 1.0,
        reward: 1.0,
        entropy: 0.25,
        tool_calls: 4,
        patch: Bulk::Inline(vec![7; 400]),
    })
}
