//! The machine in memory: like a disk while nothing fails, and no kinder than one when something does.

use std::io;
use std::sync::Arc;

use proptest::prelude::*;
use tadpole_kernel::storage::faulty::{Fault, Machine, SECTOR, Survival};
use tadpole_kernel::storage::{Disk, Storage, Within};

const FILE: &str = "a/file";

fn write(machine: &Machine, bytes: &[u8]) -> io::Result<()> {
    machine.append(FILE)?.write_all(bytes)
}

/// A machine whose file has `bytes`, durably, in a durable directory.
fn with(bytes: &[u8]) -> Machine {
    let machine = Machine::new();
    machine.make_dir("a").unwrap();
    let mut file = machine.create(FILE).unwrap();
    file.write_all(bytes).unwrap();
    file.sync().unwrap();
    machine.sync_dir("a").unwrap();
    machine
}

fn content(machine: &Machine) -> Option<Vec<u8>> {
    machine.content("").get(FILE).map(|bytes| bytes.to_vec())
}

#[test]
fn what_is_synced_lasts_and_what_is_not_need_not() {
    let machine = with(b"old");
    write(&machine, b" new").unwrap();
    machine.restart_process();
    assert_eq!(content(&machine).unwrap(), b"old new", "the end of a process loses nothing");
    let kept = machine.copy();
    kept.power_cycle(Survival::Everything);
    assert_eq!(content(&kept).unwrap(), b"old new");
    machine.power_cycle(Survival::Nothing);
    assert_eq!(content(&machine).unwrap(), b"old");
}

#[test]
fn a_file_lasts_only_with_its_name_and_a_name_only_with_its_directory() {
    let machine = Machine::new();
    machine.make_dir("a").unwrap();
    let mut file = machine.create(FILE).unwrap();
    file.write_all(b"bytes").unwrap();
    file.sync().unwrap();
    machine.power_cycle(Survival::Nothing);
    assert_eq!(content(&machine), None);
    let machine = with(b"bytes");
    machine.rename(FILE, "a/other").unwrap();
    machine.power_cycle(Survival::Nothing);
    assert_eq!(content(&machine).unwrap(), b"bytes", "the old name is back");
    machine.remove(FILE).unwrap();
    machine.power_cycle(Survival::Nothing);
    assert_eq!(content(&machine).unwrap(), b"bytes", "and so is what was removed");
    assert!(file.write_all(b"more").is_err(), "a file that an earlier process opened");
}

#[test]
fn a_power_failure_can_leave_any_part_of_a_write_and_never_harms_what_was_synced() {
    let (old, new) = (vec![1; SECTOR + 100], vec![2; 3 * SECTOR]);
    let (mut lengths, mut holes, mut torn) = (std::collections::BTreeSet::new(), 0, 0);
    for seed in 0..400 {
        let machine = with(&old);
        write(&machine, &new).unwrap();
        machine.power_cycle(Survival::Something(seed));
        let found = content(&machine).unwrap();
        assert!(found.starts_with(&old) && found.len() <= old.len() + new.len());
        let tail = &found[old.len()..];
        assert!(tail.iter().all(|byte| [0, 2].contains(byte)));
        lengths.insert(tail.len());
        holes += usize::from(tail.windows(2).any(|pair| pair == [0, 2]));
        let boundary = |at: usize| (old.len() + at + 1).is_multiple_of(SECTOR);
        torn += usize::from((1..tail.len()).any(|at| tail[at - 1..=at] == [2, 0] && !boundary(at - 1)));
    }
    assert!(
        lengths.len() > 100 && holes > 50 && torn > 20,
        "{} lengths, {holes} holes, {torn} torn",
        lengths.len()
    );
}

#[test]
fn a_failed_sync_drops_what_no_later_sync_writes() {
    let machine = with(b"old");
    let mut file = machine.append(FILE).unwrap();
    file.write_all(b" new").unwrap();
    machine.plan(0, Fault::Io);
    assert!(file.sync().is_err());
    file.sync().unwrap();
    assert_eq!(content(&machine).unwrap(), b"old new", "in the cache");
    let again = machine.copy();
    machine.power_cycle(Survival::Everything);
    assert_eq!(content(&machine).unwrap(), b"old\0\0\0\0", "and nowhere else");
    again.overwrite(FILE, 3, b" new").unwrap();
    again.power_cycle(Survival::Nothing);
    assert_eq!(content(&again).unwrap(), b"old new", "unless it is written again");
}

#[test]
fn a_full_medium_takes_part_of_a_write_and_then_nothing() {
    let machine = with(b"");
    machine.plan(0, Fault::NoSpace);
    assert_eq!(write(&machine, b"12345678").unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(content(&machine).unwrap(), b"1234");
    assert_eq!(machine.create("a/b").unwrap_err().kind(), io::ErrorKind::StorageFull);
    machine.restart_process();
    write(&machine, b"5").unwrap();
    assert_eq!(content(&machine).unwrap(), b"12345");
}

#[test]
fn what_stopped_does_nothing_until_it_starts_again() {
    let machine = with(b"old");
    machine.plan(1, Fault::Stop);
    write(&machine, b" 1").unwrap();
    assert!(write(&machine, b" 2").is_err());
    assert!(machine.read(FILE).is_err() && machine.sync_dir("a").is_err());
    machine.restart_process();
    assert_eq!(machine.read(FILE).unwrap().as_slice(), b"old 1");
}

/// A call, on one of few names, so that they meet.
#[derive(Clone, Debug)]
enum Call {
    MakeDir(u8),
    Create(u8, u8, Vec<u8>),
    Append(u8, u8, Vec<u8>),
    Rename(u8, u8, u8),
    Remove(u8, u8),
    Truncate(u8, u8, u64),
    Overwrite(u8, u8, Vec<u8>),
}

fn call() -> impl Strategy<Value = Call> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..700);
    prop_oneof![
        (0..3_u8).prop_map(Call::MakeDir),
        (0..3_u8, 0..3_u8, bytes()).prop_map(|(dir, file, bytes)| Call::Create(dir, file, bytes)),
        (0..3_u8, 0..3_u8, bytes()).prop_map(|(dir, file, bytes)| Call::Append(dir, file, bytes)),
        (0..3_u8, 0..3_u8, 0..3_u8).prop_map(|(dir, file, other)| Call::Rename(dir, file, other)),
        (0..3_u8, 0..3_u8).prop_map(|(dir, file)| Call::Remove(dir, file)),
        (0..3_u8, 0..3_u8, 0..700_u64).prop_map(|(dir, file, length)| Call::Truncate(dir, file, length)),
        (0..3_u8, 0..3_u8, bytes()).prop_map(|(dir, file, bytes)| Call::Overwrite(dir, file, bytes)),
    ]
}

/// What comes of a call: whether it was done, and the content of its file.
fn outcome(storage: &dyn Storage, call: &Call) -> (bool, Option<Vec<u8>>) {
    let name = |dir: u8, file: u8| format!("d{dir}/f{file}");
    let length = |name: &str| storage.read(name).map_or(0, |bytes| bytes.len() as u64);
    let (done, at) = match call {
        Call::MakeDir(dir) => (storage.make_dir(&format!("d{dir}")), String::new()),
        Call::Create(dir, file, bytes) => {
            let created = storage.create(&name(*dir, *file)).and_then(|mut file| file.write_all(bytes));
            (created, name(*dir, *file))
        }
        Call::Append(dir, file, bytes) => {
            let added = storage.append(&name(*dir, *file)).and_then(|mut file| file.write_all(bytes));
            (added, name(*dir, *file))
        }
        Call::Rename(dir, file, other) => {
            (storage.rename(&name(*dir, *file), &name(*dir, *other)), name(*dir, *other))
        }
        Call::Remove(dir, file) => (storage.remove(&name(*dir, *file)), name(*dir, *file)),
        // Nothing is ever cut to more than it has, or written again beyond its end.
        Call::Truncate(dir, file, to) => {
            let at = name(*dir, *file);
            (storage.truncate(&at, (*to).min(length(&at))), at)
        }
        Call::Overwrite(dir, file, bytes) => {
            let at = name(*dir, *file);
            (storage.overwrite(&at, length(&at) / 2, bytes), at)
        }
    };
    (done.is_ok(), storage.read(&at).ok().map(|bytes| bytes.to_vec()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn while_nothing_fails_the_machine_does_what_a_disk_does(calls in prop::collection::vec(call(), 1..40)) {
        let temp = tempfile::tempdir().unwrap();
        let disk = Disk::new(temp.path());
        let machine: Arc<dyn Storage> = Arc::new(Machine::new());
        machine.make_dir("within").unwrap();
        let machine = Within::new(machine, "within");
        for call in &calls {
            prop_assert_eq!(outcome(&disk, call), outcome(&machine, call), "{:?}", call);
        }
        for dir in ["", "d0", "d1", "d2"] {
            prop_assert_eq!(disk.list(dir).unwrap(), machine.list(dir).unwrap());
            prop_assert_eq!(disk.exists(dir).unwrap(), machine.exists(dir).unwrap());
        }
    }
}
