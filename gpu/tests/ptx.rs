//! The committed PTX is what the sources give, as far as that can be told without a CUDA compiler.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tadpole_gpu::kernels::{ENTRIES, Kind};

const REBUILD: &str = "run gpu/kernels/build_ptx.py and commit what it writes";

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels")
}

/// Names and texts of the PTX files.
fn files() -> Vec<(String, String)> {
    let entries = fs::read_dir(kernels().join("ptx")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<(String, String)> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .map(|path| {
            (path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn the_ptx_was_built_from_these_sources() {
    let recorded = fs::read_to_string(kernels().join("ptx/sources.sha256")).unwrap();
    let mut names = Vec::new();
    for line in recorded.lines() {
        let (digest, name) = line.split_once("  ").unwrap();
        let hash = Sha256::digest(fs::read(kernels().join(name)).unwrap());
        let found = hash.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        assert_eq!(found, digest, "{name} has changed since the PTX was built: {REBUILD}");
        names.push(name.to_owned());
    }
    for entry in fs::read_dir(kernels()).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let is_source = [".cu", ".cuh"].iter().any(|end| name.ends_with(end));
        assert!(!is_source || names.contains(&name), "{name} is new: {REBUILD}");
    }
}

#[test]
fn the_ptx_has_every_entry_point_with_its_parameters() {
    let mut found = Vec::new();
    for (name, text) in files() {
        for declaration in text.split(".entry ").skip(1) {
            let (entry, rest) = declaration.split_once('(').unwrap();
            let (parameters, _body) = rest.split_once(')').unwrap();
            let kinds =
                parameters.split(".param ").skip(1).map(|part| part.split_whitespace().next().unwrap());
            found.push((format!("{name}.cu"), entry.trim().to_owned(), kinds.collect::<Vec<_>>().join(" ")));
        }
    }
    let described = ENTRIES.iter().map(|entry| {
        let kinds = entry.parameters.iter().map(|parameter| match parameter.kind {
            Kind::Address | Kind::U64 => ".u64",
            Kind::U32 => ".u32",
            Kind::F32 => ".f32",
        });
        (entry.file.to_owned(), entry.name.to_owned(), kinds.collect::<Vec<_>>().join(" "))
    });
    let mut described: Vec<_> = described.collect();
    // A file declares its kernels in an order of the compiler's.
    found.sort();
    described.sort();
    assert_eq!(found, described);
}

#[test]
fn no_addition_or_product_of_floats_may_be_contracted() {
    for (name, text) in files() {
        for line in text.lines() {
            let word = line.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or("");
            let mut parts = word.split('.');
            let operation = parts.next().unwrap_or("");
            let parts: Vec<&str> = parts.collect();
            let of_floats = parts.iter().any(|part| ["f16", "f32", "f64"].contains(part));
            if of_floats && ["add", "sub", "mul", "mad", "fma"].contains(&operation) {
                assert!(parts.contains(&"rn"), "{name}: `{}` may be contracted", line.trim());
            }
            let inexact = parts.iter().any(|part| ["approx", "ftz", "full"].contains(part));
            assert!(!inexact, "{name}: `{}` is not IEEE", line.trim());
        }
    }
}

#[test]
fn the_report_has_a_row_for_every_kernel() {
    let report = fs::read_to_string(kernels().join("ptx/report.md")).unwrap();
    for entry in ENTRIES {
        let row = format!("| {} | {} |", entry.file, entry.name);
        assert_eq!(report.matches(&row).count(), 1, "{row}: {REBUILD}");
    }
}
