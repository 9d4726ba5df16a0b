//! How functions lie in files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::Function;
use crate::repository::{PathError, Tree};

/// Files of modules, and where each function begins in its own.
pub(super) struct Layout {
    pub(super) tree: Tree,
    /// Line of each function's first line, from 1.
    pub(super) lines: Vec<u32>,
}

/// Path of a module's file.
pub(super) fn path(module: &str) -> String {
    format!("{module}.py")
}

/// Lays out functions with the sources given: imports first, then functions, an empty line between.
pub(super) fn lay_out(functions: &[Function], sources: &[&str]) -> Result<Layout, PathError> {
    let homes: BTreeMap<&str, &str> =
        functions.iter().map(|function| (function.name.as_str(), function.module.as_str())).collect();
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    let mut lines = Vec::with_capacity(functions.len());
    for (function, source) in functions.iter().zip(sources) {
        let file =
            files.entry(&function.module).or_insert_with(|| imports(&function.module, functions, &homes));
        if !file.is_empty() {
            file.push('\n');
        }
        lines.push(file.matches('\n').count() as u32 + 1);
        file.push_str(source);
    }
    let mut tree = Tree::new();
    for (module, text) in files {
        tree.insert_file(&path(module), text)?;
    }
    Ok(Layout { tree, lines })
}

fn imports(module: &str, functions: &[Function], homes: &BTreeMap<&str, &str>) -> String {
    let mut imported: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let used =
        functions.iter().filter(|function| function.module == module).flat_map(|function| &function.uses);
    for name in used {
        if let Some(home) = homes.get(name.as_str()).filter(|home| **home != module) {
            imported.entry(home).or_default().insert(name);
        }
    }
    let mut lines = String::new();
    for (home, names) in imported {
        let names: Vec<&str> = names.into_iter().collect();
        // Writing to a string cannot fail.
        writeln!(lines, "from {home} import {}", names.join(", ")).ok();
    }
    lines
}
