//! Kill at any instant, resume, and the run has the bytes of one that was never interrupted.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tadpole_kernel::driver::{Kernel, KernelError};
use tadpole_kernel::faulty::{Faulty, Stop};
use tadpole_kernel::log::LogError;

use crate::toy::{self, SCENARIO, header, systems};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn drive(dir: &Path, storage: &Faulty) -> Result<u64, KernelError> {
    Kernel::resume_on(dir, Arc::new(storage.clone()), header(), systems())?.run(|_| {})
}

/// Stops at operation `first`, then again at operation `second` of the resumed run, then lets it end.
fn stop_twice(fresh: &Path, whole: &Path, first: u64, second: u64, stop: Stop) -> bool {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    copy(fresh, &dir);
    let machine = Faulty::new(&dir, first, stop);
    let outcome = drive(&dir, &machine);
    assert_eq!(outcome.is_err(), machine.stopped());
    let reached = machine.stopped();
    let again = Faulty::new(&dir, second, stop);
    assert_eq!(drive(&dir, &again).is_err(), again.stopped());
    drive(&dir, &Faulty::sound(&dir)).unwrap();
    toy::assert_same_content(whole, &dir);
    reached
}

#[test]
fn a_run_stopped_at_any_operation_ends_with_the_same_bytes() {
    let (_temp, whole) = toy::finished();
    let (_other, fresh) = toy::place();
    drop(Kernel::create(&fresh, SCENARIO, header(), systems()).unwrap());
    let mut operation = 0;
    loop {
        let stop = if operation % 2 == 0 { Stop::Before } else { Stop::Halfway };
        if !stop_twice(&fresh, &whole, operation, operation % 13, stop) {
            break;
        }
        operation += 1;
    }
    assert!(operation > 150, "{operation} stops");
}

#[test]
fn the_first_failure_to_write_is_the_last() {
    let (_temp, dir) = toy::place();
    drop(Kernel::create(&dir, SCENARIO, header(), systems()).unwrap());
    let mut poisoned = 0;
    for operation in 1..40 {
        let temp = tempfile::tempdir().unwrap();
        copy(&dir, temp.path());
        let machine = Arc::new(Faulty::new(temp.path(), operation, Stop::Halfway));
        let Ok(mut kernel) = Kernel::resume_on(temp.path(), machine, header(), systems()) else { continue };
        let first = loop {
            if let Err(error) = kernel.step() {
                break error;
            }
        };
        let second = kernel.step().unwrap_err();
        match first {
            // Storing an answer failed: the store refuses from then on, so the step can only fail again.
            KernelError::Undecided(_) => assert!(matches!(second, KernelError::Undecided(_))),
            KernelError::Poisoned => panic!("poisoned by nothing"),
            _ => {
                assert!(matches!(second, KernelError::Poisoned));
                poisoned += 1;
            }
        }
    }
    assert!(poisoned > 10, "{poisoned}");
}

#[test]
fn a_sync_that_fails_is_an_error_of_the_log() {
    let (_temp, dir) = toy::place();
    drop(Kernel::create(&dir, SCENARIO, header(), systems()).unwrap());
    let errors: Vec<_> = (0..60)
        .map(|operation| {
            let temp = tempfile::tempdir().unwrap();
            copy(&dir, temp.path());
            drive(temp.path(), &Faulty::new(temp.path(), operation, Stop::Before)).unwrap_err()
        })
        .collect();
    assert!(errors.iter().any(|error| matches!(error, KernelError::Log(LogError::Io(_)))));
    assert!(errors.iter().any(|error| matches!(error, KernelError::Blob(_))));
}
