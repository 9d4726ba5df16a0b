//! Runs on a machine in memory, whose power can fail.

use std::fs;
use std::path::Path;

use tadpole_kernel::storage::faulty::Machine;

/// A machine with a copy of what lies in the directory `dir` of the disk, durable.
///
/// # Panics
/// Where it cannot be read.
#[must_use]
pub fn loaded(dir: &Path, wanted: impl Fn(&str) -> bool) -> Machine {
    let machine = Machine::new();
    for name in crate::bits::files(dir).into_iter().filter(|name| wanted(name)) {
        let bytes = fs::read(dir.join(&name)).unwrap();
        machine.put(&name, bytes).unwrap();
    }
    machine
}

/// Copies what lies on a machine to the directory `dir` of the disk.
///
/// # Panics
/// Where it cannot be written.
pub fn spill(machine: &Machine, dir: &Path) {
    for (name, bytes) in machine.content("") {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("a file lies in a directory")).unwrap();
        fs::write(path, bytes.as_slice()).unwrap();
    }
}
