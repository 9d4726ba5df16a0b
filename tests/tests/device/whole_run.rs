//! A whole run on the device: the bytes of the processor's log.

use std::path::Path;

use tadpole_kernel::event::Event;
use tadpole_tests::binary;
use tadpole_tests::bits::assert_same;

use crate::machines::with_device;

/// One iteration of nano with what its updates need to show here: larger groups, so that some are mixed, and a mask
/// narrow enough that a lagging update drops tokens.
const CHANGES: [&str; 7] = [
    "iterations=1",
    "update.updates=3",
    "rollout.group=4",
    "update.delta_low=0.001",
    "update.delta_high=0.001",
    "update.learning_rate=0.001",
    "exec.progress=none",
];

/// A run of that scenario on a device.
fn run(device: &str, directory: &Path) {
    let directory = directory.to_str().expect("a path in UTF-8");
    let mut arguments = vec!["run", "nano", "--threads", "2", "--device", device, "--out", directory];
    arguments.extend(CHANGES.iter().flat_map(|change| ["--set", change]));
    let _summary = binary::finish(with_device().on(&mut binary::command(arguments))).succeeded();
}

#[test]
fn a_run_on_the_device_has_the_bytes_of_one_on_the_processor() {
    let parent = tempfile::tempdir().unwrap();
    let [processor, device] = ["cpu", "cuda"].map(|device| {
        let directory = parent.path().join(device);
        run(device, &directory);
        directory
    });
    assert_same("on the device", &processor, &device);

    let updates: Vec<_> = tadpole_tests::events(&processor)
        .into_iter()
        .filter_map(|(_, event)| match event {
            Event::UpdateApplied(update) => Some(update),
            _ => None,
        })
        .collect();
    let trained = updates.iter().filter(|update| update.groups.iter().any(|group| !group.discarded)).count();
    assert!(trained >= 2, "{trained} updates had a mixed group");
    assert!(updates.iter().any(|update| update.kept < update.tokens), "no token was dropped");
}
