//! The programs that a run's tasks consist of.

use std::collections::BTreeSet;
use std::path::Path;

use tadpole_kernel::blob::BlobReader;
use tadpole_kernel::event::{Event, TaskContent};
use tadpole_kernel::run::RunReader;
use tadpole_scenarios::repository::Tree;
use tadpole_scenarios::world::normalised;

/// Normal forms of the functions of a run's tasks.
#[derive(Debug, Default)]
struct Forms {
    training: BTreeSet<String>,
    held_out: BTreeSet<String>,
}

/// Requires that no function of a candidate is the same program as one of a held-out task.
///
/// # Panics
/// Where one is, or the run cannot be read.
pub fn assert_disjoint(run: &Path) {
    let Forms { training, held_out } = forms(run);
    assert!(
        !training.is_empty() && !held_out.is_empty(),
        "{} and {} programs",
        training.len(),
        held_out.len()
    );
    let shared: Vec<&String> = training.intersection(&held_out).collect();
    assert!(shared.is_empty(), "{} programs are trained on and held out:\n{}", shared.len(), shared[0]);
}

fn forms(run: &Path) -> Forms {
    let blobs = RunReader::open(run).unwrap().blobs();
    let mut forms = Forms::default();
    for (_, event) in crate::events(run) {
        match event {
            Event::CandidateGenerated(candidate) => {
                forms.training.extend(functions(&candidate.content, &blobs))
            }
            Event::TaskHeldOut(task) => forms.held_out.extend(functions(&task.content, &blobs)),
            _ => {}
        }
    }
    forms
}

/// Normal forms of all functions of a task as they are after its gold patch. A fault can reduce any function to a trivial one
/// (`return x`); what is held out are programs that do what they say.
fn functions(content: &TaskContent, blobs: &BlobReader) -> BTreeSet<String> {
    let tree = |bulk| Tree::from_canonical(&blobs.bulk(bulk).unwrap()).unwrap();
    let mended = tree(&content.snapshot).overlaid(&tree(&content.gold));
    let modules = mended.paths().filter(|path| path.ends_with(".py") && !is_test(path));
    modules
        .filter_map(|path| mended.text(path))
        .flat_map(definitions)
        .map(|source| normalised(&source))
        .collect()
}

/// The top-level functions of a module, each from its `def` to the next top-level line.
fn definitions(module: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut inside = false;
    for line in module.split_inclusive('\n') {
        if line.starts_with("def ") {
            found.push(line.to_owned());
            inside = true;
        } else if !line.starts_with([' ', '\t', '\n', '\r']) {
            inside = false;
        } else if inside && let Some(last) = found.last_mut() {
            last.push_str(line);
        }
    }
    found
}

fn is_test(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with("test_"))
}
