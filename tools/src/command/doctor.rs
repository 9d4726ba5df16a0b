//! `tadpole doctor`: check that this machine can run Tadpole, and how fast.

use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use tadpole_scenarios::assets;
use tadpole_scenarios::schema::{PretrainScenario, Scenario};

use crate::engine::{Engine, Finding, State};
use crate::failure::Failure;

/// Arguments of `tadpole doctor`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The directory where runs are to be made.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command; anything bad is a failure.
pub(crate) fn run(options: &Options, engine: &dyn Engine, out: &mut dyn Write) -> Result<(), Failure> {
    let mut findings = vec![threads(), arithmetic(), disk(&options.out), scenarios()];
    findings.extend(memory());
    findings.extend(engine.doctor());
    // What was found counts, whether or not it could be written.
    let written = if options.json { super::json(out, &findings) } else { lines(out, &findings) };
    let bad: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.state == State::Bad)
        .map(|finding| finding.subject.as_str())
        .collect();
    if bad.is_empty() {
        return written;
    }
    Err(Failure::failed(format!("this machine cannot run Tadpole as it is: {}", bad.join(", "))))
}

fn lines(out: &mut dyn Write, findings: &[Finding]) -> Result<(), Failure> {
    for finding in findings {
        writeln!(out, "{}", line(finding))?;
    }
    Ok(())
}

fn line(finding: &Finding) -> String {
    let Finding { subject, state, detail, help } = finding;
    let mark = match state {
        State::Good => "ok  ",
        State::Note => "note",
        State::Bad => "BAD ",
    };
    let help = if help.is_empty() { String::new() } else { format!("\n     {:<16} {help}", "") };
    format!("{mark} {subject:<16} {detail}{help}")
}

fn threads() -> Finding {
    match std::thread::available_parallelism() {
        Ok(count) => Finding::new("threads", State::Good, format!("{count} at once"), ""),
        Err(error) => Finding::new(
            "threads",
            State::Note,
            format!("unknown: {error}"),
            "say how many with --threads, or 1 is taken",
        ),
    }
}

/// The floating-point environment that exact results need.
fn arithmetic() -> Finding {
    let same = |left: f32, right: f32| left.to_bits() == right.to_bits();
    let tiny = black_box(f32::MIN_POSITIVE) / black_box(2.0);
    let denormals = tiny > 0.0 && same(black_box(tiny) * black_box(2.0), f32::MIN_POSITIVE);
    // The product's last bits decide: a chain of two roundings gives 0.
    let (a, b) = (black_box(1.0_f32 + f32::EPSILON), black_box(1.0_f32 - f32::EPSILON));
    let fused = same(a.mul_add(b, -1.0), -(f32::EPSILON * f32::EPSILON));
    let halfway = same(black_box(1.0_f32) + black_box(f32::EPSILON / 2.0), 1.0);
    match (denormals, fused, halfway) {
        (true, true, true) => Finding::new(
            "arithmetic",
            State::Good,
            "IEEE: denormals, fused multiply-add, rounding to even",
            "",
        ),
        _ => Finding::new(
            "arithmetic",
            State::Bad,
            format!("denormals {denormals}, fused multiply-add {fused}, rounding to even {halfway}"),
            "something set the processor to flush or to round otherwise; results would not be exact",
        ),
    }
}

/// Whether runs can be written and synced.
fn disk(directory: &Path) -> Finding {
    let probe = directory.join(format!(".tadpole-doctor-{}", std::process::id()));
    let tried = || -> std::io::Result<()> {
        std::fs::create_dir(&probe)?;
        let mut file = std::fs::File::create(probe.join("a"))?;
        file.write_all(b"probe")?;
        file.sync_all()?;
        std::fs::rename(probe.join("a"), probe.join("b"))?;
        std::fs::File::open(&probe)?.sync_all()
    };
    let began = now();
    let result = tried();
    let took = now().saturating_duration_since(began);
    let removed = std::fs::remove_dir_all(&probe);
    match result.and(removed) {
        Ok(()) => {
            let (directory, took) = (directory.display(), took.as_secs_f64() * 1e3);
            Finding::new(
                "disk",
                State::Good,
                format!("{directory} can be written, and synced in {took:.1} ms"),
                "",
            )
        }
        Err(error) => Finding::new(
            "disk",
            State::Bad,
            format!("{}: {error}", directory.display()),
            "runs need a directory in which files can be written, renamed and synced; name another with --out",
        ),
    }
}

#[expect(clippy::disallowed_methods, reason = "how fast this machine is, which nothing else may depend on")]
fn now() -> Instant {
    Instant::now()
}

/// Free memory, where the system tells.
fn memory() -> Option<Finding> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    let detail = format!("{:.1} GiB free", kibibytes as f64 / 1_048_576.0);
    Some(if kibibytes >= 1_048_576 {
        Finding::new("memory", State::Good, detail, "")
    } else {
        Finding::new("memory", State::Note, detail, "the main job takes up to 1 GiB; lower --threads")
    })
}

/// Whether the shipped scenarios are sound.
fn scenarios() -> Finding {
    let runs = assets::SCENARIOS.iter().filter_map(|file| Scenario::parse(file.text, file.name).err());
    let pretrain = PretrainScenario::parse(assets::PRETRAIN.text, assets::PRETRAIN.name).err();
    match runs.chain(pretrain).next() {
        None => {
            let names: Vec<&str> = assets::SCENARIOS.iter().map(|file| file.name).collect();
            Finding::new("scenarios", State::Good, names.join(", "), "")
        }
        Some(error) => {
            Finding::new("scenarios", State::Bad, error.to_string(), "this build is broken: build it again")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{tadpole, unread};
    use super::*;
    use crate::engine::samples::Sample;

    #[test]
    fn a_machine_that_runs_these_tests_is_found_good() {
        let directory = tempfile::tempdir().unwrap();
        let printed = tadpole("doctor --out {}", directory.path(), &Sample::default()).unwrap();
        for subject in ["threads", "arithmetic", "disk", "scenarios", "sandbox worker"] {
            assert!(printed.contains(subject), "{printed}");
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "the probe is removed");
        let json = tadpole("doctor --json --out {}", directory.path(), &Sample::default()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value[1]["subject"], "arithmetic");
        assert_eq!(value[1]["state"], "good");
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_bad() {
        let failure =
            tadpole("doctor --out {}/absent", Path::new("/nowhere"), &Sample::default()).expect_err("bad");
        assert!(failure.to_string().contains("disk"), "{failure}");
        let unread = unread("doctor --out {}/absent", Path::new("/nowhere"), &Sample::default());
        assert_eq!(unread, failure);
    }
}
