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

/// What four more iterations may add: the allocator's mood, and some hundred bytes a trajectory. The weights and moments
/// of their updates alone would be five times as much.
const SLACK_BYTES: u64 = 8 << 20;

#[cfg(target_os = "linux")]
#[test]
fn a_run_three_times_as_long_holds_no_more() {
    let peak = |iterations: u32| {
        let parent = tempfile::tempdir().unwrap();
        let run = parent.path().join("run");
        let iterations = format!("iterations={iterations}");
        let words = ["run", "nano", "--threads", "2", "--set", &iterations, "--set", "exec.progress=none"];
        let _table = binary::run([&words[..], &["--out", run.to_str().unwrap()]].concat()).succeeded();
        let timings = RunReader::open(&run).unwrap().timings().unwrap();
        timings.iter().filter_map(|timing| timing.peak_bytes).max().expect("Linux tells")
    };
    let (short, long) = (peak(2), peak(6));
    assert!(short > 8 << 20, "weights and workers are more than {short} bytes");
    assert!(long < short + SLACK_BYTES, "{short} bytes after 2 iterations, {long} after 6");
}
