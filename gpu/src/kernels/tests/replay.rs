//! The committed PTX, to be replayed.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::cuda::ptx::FILES;
use tadpole_emulator::ptx::Module;

/// Modules by the source that each was compiled from.
pub(super) struct Replay {
    modules: BTreeMap<&'static str, Module>,
}

impl Replay {
    /// The PTX as it is.
    pub(super) fn committed() -> &'static Self {
        static COMMITTED: OnceLock<Replay> = OnceLock::new();
        COMMITTED.get_or_init(|| Self {
            modules: FILES.iter().map(|file| module(file.source, file.text)).collect(),
        })
    }

    /// One source's PTX, changed.
    pub(super) fn changed(source: &'static str, change: impl FnOnce(&str) -> String) -> Self {
        let file = FILES.iter().find(|file| file.source == source).expect("a source of this crate");
        Self { modules: BTreeMap::from([module(source, &change(file.text))]) }
    }

    /// What a source was compiled to.
    pub(super) fn module(&self, source: &str) -> &Module {
        self.modules.get(source).unwrap_or_else(|| panic!("{source} is not among what is replayed"))
    }
}

fn module(source: &'static str, text: &str) -> (&'static str, Module) {
    (source, Module::parse(text).unwrap_or_else(|error| panic!("the PTX of {source}: {error}")))
}
