//! Structs, sources, the table for people and what the compiler made of them say the same.

use super::device::{emulator, sources};
use crate::kernels::{ENTRIES, Entry, Kind};
use std::path::Path;

fn c_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Address => "*",
        Kind::U32 => "unsigned",
        Kind::U64 => "unsigned long long",
        Kind::F32 => "float",
    }
}

#[test]
fn every_entry_point_of_the_sources_is_described_in_order() {
    let sources = sources();
    let names: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
    let mut found = sources.entries();
    found.sort_unstable();
    let mut described = names.clone();
    described.sort_unstable();
    assert_eq!(found, described);
    for entry in ENTRIES {
        let signatures = sources.signatures(entry.file);
        let signature = signatures.iter().find(|signature| signature.name == entry.name).unwrap();
        for (parameter, written) in entry.parameters.iter().zip(&signature.parameters) {
            assert_eq!(parameter.name, written.name, "{}", entry.name);
            let kind = c_type(parameter.kind);
            let same = if kind == "*" { written.kind.ends_with('*') } else { written.kind == kind };
            assert!(same, "{}: {} is {}", entry.name, written.name, written.kind);
        }
        assert_eq!(entry.parameters.len(), signature.parameters.len(), "{}", entry.name);
    }
}

#[test]
fn parameters_are_as_large_as_the_compiler_has_them() {
    for entry in ENTRIES {
        let sizes: Vec<u32> = entry.parameters.iter().map(|parameter| parameter.kind.size() as u32).collect();
        assert_eq!(emulator().parameter_sizes(entry.name), Some(sizes), "{}", entry.name);
    }
}

/// A line of the table in `kernels/README.md`.
fn line(entry: &Entry) -> String {
    let kind = |kind| match kind {
        Kind::Address => "address",
        Kind::U32 => "u32",
        Kind::U64 => "u64",
        Kind::F32 => "f32",
    };
    let parameters: Vec<String> = entry
        .parameters
        .iter()
        .map(|parameter| format!("{}: {}", parameter.name, kind(parameter.kind)))
        .collect();
    format!("| {} | {} | {} |\n", entry.file, entry.name, parameters.join(", "))
}

#[test]
fn the_table_for_people_lists_the_entry_points_as_they_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/README.md");
    let text = std::fs::read_to_string(path).unwrap();
    let table: String = ENTRIES.iter().map(line).collect();
    assert!(text.ends_with(&table), "the table should read:\n{table}");
}
