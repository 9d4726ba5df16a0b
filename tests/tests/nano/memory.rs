//! A run holds what the iteration under way needs, however many went before.

use tadpole_kernel::event::Event;
use tadpole_kernel::forge::world_of;
use tadpole_kernel::run::RunReader;
use tadpole_kernel::world::{Content, History};
use tadpole_tests::binary;
use tadpole_tests::nano::nano;

#[test]
fn histories_and_contents_leave_the_world_with_their_iteration() {
    let ends = nano().events.iter().enumerate();
    let ends: Vec<usize> = ends
        .filter(|(_, (_, event))| matches!(event, Event::IterationFinished(_)))
        .map(|(index, _)| index)
        .collect();
    assert_eq!(ends.len(), 4, "the base and three");
    for end in ends {
        let before = nano().events[..end].iter().map(|(_, event)| event.clone());
        let world = world_of(before.chain([nano().events[end].1.clone()]));
        let view = world.view();
        let held_out = nano().events.iter().filter(|(_, event)| matches!(event, Event::TaskHeldOut(_)));
        assert_eq!((view.count::<History>(), view.count::<Content>()), (0, held_out.count()));
    }
}

/// What 36 more iterations may add: buffers of megabytes come and go with every update, and what the allocator keeps for them
/// levels off late (12, 60, 120 and 240 iterations: 211, 252, 291 and 300 MiB). Weights and moments of their updates alone
/// would be ten times as much.
const SLACK_BYTES: u64 = 64 << 20;

#[cfg(target_os = "linux")]
#[test]
fn a_run_four_times_as_long_holds_little_more() {
    let peak = |iterations: u32| {
        let parent = tempfile::tempdir().unwrap();
        let run = parent.path().join("run");
        let iterations = format!("iterations={iterations}");
        let words = ["run", "nano", "--threads", "2", "--set", &iterations, "--set", "exec.progress=none"];
        let _table = binary::run([&words[..], &["--out", run.to_str().unwrap()]].concat()).succeeded();
        let timings = RunReader::open(&run).unwrap().timings().unwrap();
        timings.iter().filter_map(|timing| timing.peak_bytes).max().expect("Linux tells")
    };
    let (short, long) = (peak(12), peak(48));
    assert!(short > 8 << 20, "weights and workers are more than {short} bytes");
    assert!(long < short + SLACK_BYTES, "{short} bytes after 12 iterations, {long} after 48");
}
