//! The kernels as they are carried: PTX, built from `kernels/*.cu` and committed beside them.

use crate::kernels::{ENTRIES, Entry};

/// The kernels of one source.
pub(crate) struct File {
    /// The name of the source.
    pub(crate) source: &'static str,
    /// The PTX that it was compiled to.
    pub(crate) text: &'static str,
}

impl File {
    /// The entry points that the source is described to have.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &'static Entry> + use<> {
        let source = self.source;
        ENTRIES.iter().filter(move |entry| entry.file == source)
    }
}

macro_rules! files {
    ($($name:literal)*) => {
        [$(File {
            source: concat!($name, ".cu"),
            text: include_str!(concat!("../../kernels/ptx/", $name, ".ptx")),
        }),*]
    };
}

/// All kernels.
pub(crate) const FILES: [File; 9] = files! {
    "gemm" "embedding" "norm" "rotate" "attention" "elementwise" "loss" "optimiser" "convert"
};
