//! No decision depends on how the world lies in memory.

use tadpole_tests::bits::assert_same;
use tadpole_tests::drive;
use tadpole_tests::nano::{nano, run};

#[test]
fn a_world_rebuilt_in_shuffled_order_before_every_step_leads_to_the_same_chain() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run");
    let mut kernel = drive::start(&nano().scenario, &directory, &drive::on_threads(2));
    for seed in 0.. {
        let before = kernel.next_system();
        kernel.rebuild_world(seed);
        assert_eq!(kernel.next_system(), before);
        if kernel.step().unwrap().is_none() {
            break;
        }
    }
    drop(kernel);
    assert_same("rebuilt worlds", run(), &directory);
}
