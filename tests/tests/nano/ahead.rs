//! Rollouts that are played beside the update before theirs change no bit, whatever the lag.

use std::path::Path;

use tadpole_kernel::driver::Kernel;
use tadpole_scenarios::schema::Scenario;
use tadpole_systems::assembly::Assembly;
use tadpole_tests::bits::assert_same;
use tadpole_tests::drive;
use tadpole_tests::nano::nano;

/// Runs it; how many episodes were played before they were asked for.
fn played_ahead(scenario: &Scenario, directory: &Path, threads: usize) -> u64 {
    let Assembly { systems, header, meter, .. } = drive::assembled(scenario, &drive::on_threads(threads));
    Kernel::create(directory, &scenario.to_toml(), header, systems).unwrap().run(|_| {}).unwrap();
    meter.read().ahead
}

#[test]
fn a_run_is_the_same_bits_with_and_without_playing_ahead_at_any_lag() {
    let parent = tempfile::tempdir().unwrap();
    for lag in [0, 1, 3] {
        let mut scenario = nano().scenario.clone();
        (scenario.rollout.lag, scenario.exec.ahead) = (lag, false);
        let plain = parent.path().join(format!("{lag}"));
        assert_eq!(played_ahead(&scenario, &plain, 1), 0);
        scenario.exec.ahead = true;
        for threads in [1, 3] {
            let directory = parent.path().join(format!("{lag} on {threads}"));
            let ahead = played_ahead(&scenario, &directory, threads);
            assert_eq!(ahead > 0, lag > 0, "{ahead} episodes at a lag of {lag}");
            assert_same(&format!("lag {lag}, {threads} threads"), &plain, &directory);
        }
    }
}
