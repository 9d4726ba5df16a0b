//! Check, salvage, collect: forks, whose logs change hands on the way and whose files are shared.

use std::fs;
use std::path::{Path, PathBuf};

use tadpole_kernel::blob::Moments;
use tadpole_kernel::decide::Keep;
use tadpole_kernel::driver::Kernel;
use tadpole_kernel::id::{Digest, Step};
use tadpole_kernel::run::RunReader;
use tadpole_kernel::upkeep::{Collection, Problem, check, gc, salvage};

use crate::forks::{boundary, changed, make, parent, run_on};
use crate::toy::{self, header, systems_that_keep};

#[test]
fn a_fork_is_whole_when_its_ancestors_scenarios_are_there() {
    let (temp, dir) = parent();
    let child = temp.path().join("child");
    let forked = make(&dir, boundary(&dir), &child, header()).unwrap();
    assert!(check(&child, Moments::Carried).problems.is_empty());
    let headers: Vec<_> = RunReader::open(&child).unwrap().lineage().headers().collect();
    assert_eq!(headers, [(forked.parent, header()), (forked.run, header())]);
    let scenario = format!("lineage/{}.toml", forked.parent);
    fs::remove_file(child.join(&scenario)).unwrap();
    let problems = check(&child, Moments::Carried).problems;
    assert_eq!(problems.iter().map(Problem::place).collect::<Vec<_>>(), [(scenario, None)]);
}

#[test]
fn what_is_salvaged_of_a_fork_is_the_fork_and_before_its_first_step_the_parent() {
    let (temp, dir) = parent();
    let (at, child) = (boundary(&dir), temp.path().join("child"));
    make(&dir, at, &child, changed()).unwrap();
    run_on(&child, changed(), toy::generous());
    let (whole, own) = (temp.path().join("whole"), "log/00000001.seg");
    salvage(&child, &whole, Moments::Carried).unwrap();
    toy::assert_same_content(&child, &whole);
    assert!(check(&whole, Moments::Carried).problems.is_empty());
    drop(Kernel::resume(&whole, changed(), toy::generous()).unwrap());
    let mut bytes = fs::read(child.join(own)).unwrap();
    bytes[200] ^= 1;
    fs::write(child.join(own), bytes).unwrap();
    let first = temp.path().join("first");
    let saved = salvage(&child, &first, Moments::Carried).unwrap();
    assert_eq!(saved.last.step, at, "all that the fork shares with its parent");
    assert!(saved.last_seen > at);
    assert_eq!(RunReader::open(&first).unwrap().scenario().unwrap(), toy::SCENARIO);
    run_on(&first, header(), systems_that_keep(Keep::All));
    toy::assert_same_content(&first, &dir);
}

/// A copy of a fork, so that it can be damaged: of its files its parent has some.
fn copied(child: &Path) -> (tempfile::TempDir, PathBuf) {
    let (temp, copy) = toy::place();
    for name in toy::content(child).into_keys().chain(["scenario.toml".to_owned()]).chain(lineage(child)) {
        let path = copy.join(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(child.join(&name), path).unwrap();
    }
    (temp, copy)
}

fn lineage(child: &Path) -> Vec<String> {
    let files = fs::read_dir(child.join("lineage")).unwrap();
    files.map(|file| format!("lineage/{}", file.unwrap().file_name().into_string().unwrap())).collect()
}

/// The parent lies in segments 0 and 1, of which the second ends unsealed; the fork has segment 2.
#[test]
fn a_fork_is_salvaged_wherever_it_is_damaged_and_goes_on_as_what_is_left() {
    let (temp, dir) = parent();
    let (at, child) = (Step(boundary(&dir).0 + 3), temp.path().join("child"));
    make(&dir, at, &child, changed()).unwrap();
    run_on(&child, changed(), toy::generous());
    let mut forks = 0;
    for index in 0..3 {
        let name = format!("log/{index:08}.seg");
        let sound = fs::read(child.join(&name)).unwrap();
        for byte in
            (700..sound.len()).step_by(sound.len() / 4).chain([100]).filter(|byte| (index, *byte) != (0, 100))
        {
            let (_copy, damaged) = copied(&child);
            let mut bytes = sound.clone();
            bytes[byte] ^= 1;
            fs::write(damaged.join(&name), bytes).unwrap();
            let out = damaged.with_extension("saved");
            let saved = salvage(&damaged, &out, Moments::Carried).unwrap();
            assert!(!saved.cut.is_empty(), "{name}, byte {byte}");
            assert!(check(&out, Moments::Carried).problems.is_empty(), "{name}, byte {byte}");
            if saved.last.step > at {
                forks += 1;
                run_on(&out, changed(), toy::generous());
                toy::assert_same_content(&out, &child);
            } else {
                run_on(&out, header(), systems_that_keep(Keep::All));
                toy::assert_same_content(&out, &dir);
            }
        }
    }
    assert!(forks > 1, "some of what was saved is a fork");
}

#[test]
fn a_fork_whose_own_segment_is_gone_is_its_parent_up_to_there() {
    let (temp, dir) = parent();
    let (at, child) = (Step(4), temp.path().join("child"));
    make(&dir, at, &child, changed()).unwrap();
    run_on(&child, changed(), toy::generous());
    fs::remove_file(child.join("log/00000001.seg")).unwrap();
    let out = temp.path().join("out");
    let saved = salvage(&child, &out, Moments::Carried).unwrap();
    assert_eq!(saved.last.step, at);
    assert!(saved.last_seen > at, "the segments behind the gap tell of more");
    run_on(&out, header(), systems_that_keep(Keep::All));
    toy::assert_same_content(&out, &dir);
}

fn write_blob(dir: &Path, bytes: &[u8]) -> Digest {
    let digest = Digest::of(bytes);
    let hex = digest.to_hex();
    fs::create_dir_all(dir.join("blobs").join(&hex[..2])).unwrap();
    fs::write(dir.join("blobs").join(&hex[..2]).join(&hex[2..]), bytes).unwrap();
    digest
}

#[test]
fn collecting_from_a_fork_takes_nothing_from_its_parent() {
    let (temp, dir) = parent();
    let child = temp.path().join("child");
    make(&dir, Step(boundary(&dir).0 + 3), &child, header()).unwrap();
    run_on(&child, header(), systems_that_keep(Keep::All));
    let (parents, childs) = (toy::content(&dir), toy::content(&child));
    let kept = gc(&child, Keep::All, Collection::Done).unwrap();
    assert_eq!((kept.unnamed.len(), kept.superseded.len(), kept.bytes), (0, 0, 0));
    assert_eq!(toy::content(&child), childs, "blobs that the parent's events name are needed");
    let unnamed = write_blob(&child, b"nobody names this");
    let collected = gc(&child, Keep::Iterations, Collection::Done).unwrap();
    assert_eq!(collected.unnamed, [unnamed].into());
    assert!(!collected.superseded.is_empty(), "the parent kept everything");
    assert!(check(&child, Moments::Carried).problems.is_empty());
    assert_eq!(toy::content(&dir), parents);
    assert!(check(&dir, Moments::Carried).problems.is_empty());
}
