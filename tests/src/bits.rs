//! Comparing runs bit for bit, and copying them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use tadpole_kernel::event::Event;
use tadpole_kernel::run::RunReader;
use tadpole_kernel::verify::field_differences;

/// What must be equal between two runs of one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits {
    /// The files of `log/` by name.
    pub log: BTreeMap<String, Vec<u8>>,
    /// The files below `blobs/` by path; each is named by the digest of its content.
    pub blobs: BTreeSet<String>,
}

impl Bits {
    /// The bits of a run.
    ///
    /// # Panics
    /// Where the run cannot be read.
    pub fn of(run: &Path) -> Self {
        let log = files(&run.join("log"))
            .into_iter()
            .map(|name| (name.clone(), fs::read(run.join("log").join(name)).unwrap()));
        Self { log: log.collect(), blobs: files(&run.join("blobs")).into_iter().collect() }
    }

    /// Bytes of the log.
    pub fn log_bytes(&self) -> usize {
        self.log.values().map(Vec::len).sum()
    }
}

/// Requires that two runs have the same bits.
///
/// # Panics
/// Where they differ, with the first difference down to the field.
pub fn assert_same(what: &str, one: &Path, other: &Path) {
    let (left, right) = (Bits::of(one), Bits::of(other));
    assert!(left.log == right.log, "{what}: the logs differ\n{}", first_difference(one, other));
    let missing: Vec<_> = left.blobs.symmetric_difference(&right.blobs).collect();
    assert!(missing.is_empty(), "{what}: only one of the runs has the blobs {missing:?}");
}

/// Copies a run. Blobs are linked: nothing ever writes to one.
///
/// # Panics
/// Where it cannot be copied.
pub fn copy(from: &Path, to: &Path) {
    for name in files(from) {
        let target = to.join(&name);
        fs::create_dir_all(target.parent().expect("a file lies in a directory")).unwrap();
        if name.starts_with("blobs/") {
            fs::hard_link(from.join(&name), &target).unwrap();
        } else {
            fs::copy(from.join(&name), &target).unwrap();
        }
    }
}

/// Paths of all files below `root`, relative to it, ascending; none where it does not exist.
pub(crate) fn files(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(root.join(&directory)) else { continue };
        for entry in entries.map(|entry| entry.unwrap()) {
            let name = format!("{directory}{}", entry.file_name().to_string_lossy());
            if entry.file_type().unwrap().is_dir() {
                open.push(name + "/");
            } else {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

/// The first step in which two logs differ, with what differs in it.
fn first_difference(one: &Path, other: &Path) -> String {
    let groups = |run: &Path| RunReader::open(run).and_then(|reader| reader.groups());
    let (Ok(left), Ok(right)) = (groups(one), groups(other)) else {
        return "one of them cannot be read".to_owned();
    };
    for (left, right) in left.zip(right) {
        let (Ok(left), Ok(right)) = (left, right) else {
            return "one of them cannot be read to its end".to_owned();
        };
        if left.commit() == right.commit() {
            continue;
        }
        let decode =
            |group: &tadpole_kernel::log::Group| -> Vec<Event> { group.events().flatten().collect() };
        let (events, others) = (decode(&left), decode(&right));
        let mut text = format!("step {}: {} and {} events", left.commit().step, events.len(), others.len());
        for (index, (event, other)) in
            events.iter().zip(&others).enumerate().filter(|(_, (event, other))| event != other).take(3)
        {
            let json = |event| serde_json::to_value(event).unwrap();
            let fields = field_differences(&json(event), &json(other));
            let fields: Vec<String> = fields.into_iter().take(8).map(|field| format!("{field:?}")).collect();
            // Writing to a string cannot fail.
            write!(text, "\nevent {index}, {}: {}", event.name(), fields.join("\n  ")).ok();
        }
        return text;
    }
    "one of them is longer than the other".to_owned()
}
