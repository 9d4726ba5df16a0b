//! Which blobs stay.

use std::collections::BTreeSet;
use std::fs;

use tadpole_kernel::decide::Keep;
use tadpole_kernel::driver::Kernel;
use tadpole_kernel::event::Event;
use tadpole_kernel::id::Digest;
use tadpole_kernel::run::RunReader;

use crate::toy::{self, SCENARIO, header, systems_that_keep};

fn run(keep: Keep) -> (tempfile::TempDir, std::path::PathBuf) {
    let (temp, dir) = toy::place();
    Kernel::create(&dir, SCENARIO, header(), systems_that_keep(keep)).unwrap().run(|_| {}).unwrap();
    (temp, dir)
}

fn named(dir: &std::path::Path, picks: impl Fn(&Event) -> Vec<Digest>) -> BTreeSet<Digest> {
    let run = RunReader::open(dir).unwrap();
    run.events().unwrap().flat_map(|it| picks(&it.unwrap().2)).collect()
}

#[test]
fn superseded_weights_and_states_are_dropped_and_nothing_else() {
    let (_temp, dir) = run(Keep::Iterations);
    let stored = RunReader::open(&dir).unwrap().blob_store().list().unwrap();
    let updates =
        named(&dir, |event| if matches!(event, Event::UpdateApplied(_)) { event.blobs() } else { vec![] });
    let others =
        named(&dir, |event| if matches!(event, Event::UpdateApplied(_)) { vec![] } else { event.blobs() });
    assert!(others.is_subset(&stored));
    let kept: Vec<_> = updates.intersection(&stored).collect();
    assert_eq!(kept.len(), 2, "the last optimiser state of each iteration alone");
    assert_eq!(updates.len(), 12);
}

#[test]
fn keeping_all_keeps_all_and_changes_no_byte_of_the_log() {
    let (_temp, all) = run(Keep::All);
    let (_other, some) = run(Keep::Iterations);
    let stored = RunReader::open(&all).unwrap().blob_store().list().unwrap();
    assert_eq!(stored, named(&all, Event::blobs));
    let segment = |dir: &std::path::Path| fs::read(dir.join("log/00000000.seg")).unwrap();
    assert_eq!(segment(&all), segment(&some));
}

#[test]
fn deletions_that_a_crash_prevented_are_made_up_for() {
    let (_temp, all) = run(Keep::All);
    let (_other, some) = run(Keep::Iterations);
    // As if the crash fell after the commit and before any deletion: everything is still there.
    drop(Kernel::resume(&all, header(), systems_that_keep(Keep::Iterations)).unwrap());
    toy::assert_same_content(&all, &some);
}
