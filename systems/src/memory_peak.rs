//! How much memory a process has held, as far as the system tells.

/// The most memory that the process with this id has held at one time, in bytes; pages that processes share count in each.
/// `None` where the process has ended, and on systems other than Linux.
#[must_use]
pub(crate) fn of_process(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kib.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_held_what_it_holds() {
        if !cfg!(target_os = "linux") {
            assert_eq!(of_process(std::process::id()), None);
            return;
        }
        let before = of_process(std::process::id()).unwrap();
        let held = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = of_process(std::process::id()).unwrap();
        assert!(after >= before && after >= held.len() as u64, "{before} {after}");
        assert_eq!(of_process(u32::MAX), None);
    }
}
