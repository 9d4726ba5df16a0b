//! An honest run holds.

use tadpole_kernel::verify::{VerifyOptions, verify};
use tadpole_systems::assembly::Assembly;
use tadpole_systems::meter::Reading;
use tadpole_tests::nano::{nano, run};
use tadpole_tests::{binary, commits, drive};

#[test]
fn every_decision_of_an_honest_run_is_made_again_and_nothing_differs() {
    let Assembly { systems, header, meter, .. } = drive::assembled(&nano().scenario, &drive::on_threads(2));
    let report = verify(run(), &header, &systems, &VerifyOptions::default(), |_| {}).unwrap();
    assert_eq!(report.differences, []);
    assert!(report.complete);
    assert_eq!((report.executed, report.out_of_reach.len()), (report.steps, 0));
    let Reading { tokens, followed, .. } = meter.read();
    assert_eq!(tokens, followed, "every history was read as it is recorded, none was decoded");
    assert!(tokens > 1_000);
}

#[test]
fn the_command_finds_nothing_in_an_honest_run_in_full_in_part_and_without_updates() {
    let steps = commits(run()).len() as u64;
    let directory = run().to_str().unwrap();
    let verified = |flags: &[&str]| {
        let words = [&["verify", directory, "--json"], flags].concat();
        let report = binary::run(words).succeeded().json();
        assert_eq!(report["differences"], serde_json::json!([]), "{flags:?}");
        assert_eq!(report["steps"], steps, "{flags:?}");
        report["executed"].as_u64().expect("a number")
    };
    assert_eq!(verified(&[]), steps);
    assert!(verified(&["--skip-updates"]) < steps);
    let sampled = verified(&["--sample", "0.3"]);
    assert!(0 < sampled && sampled < steps, "{sampled} of {steps}");
}
