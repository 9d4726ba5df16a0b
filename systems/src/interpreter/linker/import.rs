//! Import statements, and what they come to.

use ruff_text_size::TextSize;

use super::Target;

/// One name of an `import a.b as c`.
#[derive(Clone, Debug)]
pub(in crate::interpreter) struct ModuleAlias {
    /// `a.b`.
    pub(in crate::interpreter) name: String,
    /// `c`, or `a` without an `as`.
    pub(super) binding: String,
    /// Whether there is an `as`: the name then means `a.b`, and otherwise `a`.
    pub(in crate::interpreter) renamed: bool,
    /// What it means, once resolved to a project module.
    pub(in crate::interpreter) resolved: Option<Target>,
}

/// One name of a `from m import a as b`.
#[derive(Clone, Debug)]
pub(in crate::interpreter) struct NameAlias {
    /// `a`.
    pub(in crate::interpreter) name: String,
    /// `b`, or `a` without an `as`.
    pub(in crate::interpreter) binding: String,
}

/// What a `from` import comes to.
#[derive(Clone, Debug)]
pub(in crate::interpreter) enum FromResult {
    /// The interpreter's own affair: a standard module, or none.
    Foreign,
    /// These names, of project modules.
    Bind(Vec<(String, Target)>),
    /// `ImportError` with this message.
    Raise(String),
}

/// An import statement, in the order of the source, wherever it stands.
#[derive(Clone, Debug)]
pub(in crate::interpreter) enum Import {
    /// `import a, b.c as d`.
    Module {
        /// Where the statement starts.
        start: TextSize,
        /// Its names.
        aliases: Vec<ModuleAlias>,
        /// Whether it stands outside of functions and classes.
        top: bool,
    },
    /// `from .m import a`.
    From {
        /// Where the statement starts.
        start: TextSize,
        /// `m`; empty for `from . import a`.
        module: String,
        /// The number of leading dots.
        level: u32,
        /// Its names; one `*` stands alone.
        names: Vec<NameAlias>,
        /// Whether it stands outside of functions and classes.
        top: bool,
        /// What it comes to, once resolved.
        result: FromResult,
    },
}

impl Import {
    /// Where the statement starts.
    pub(in crate::interpreter) fn start(&self) -> TextSize {
        match self {
            Self::Module { start, .. } | Self::From { start, .. } => *start,
        }
    }
}

/// Whether an import is one of a project module, once it was resolved.
pub(in crate::interpreter) fn resolves(import: &Import, at: usize) -> bool {
    match import {
        Import::Module { aliases, .. } => aliases[at].resolved.is_some(),
        Import::From { result, .. } => !matches!(result, FromResult::Foreign),
    }
}

/// What a resolved import binds.
pub(in crate::interpreter) fn bindings(import: &Import) -> Vec<(String, Target)> {
    match import {
        Import::Module { aliases, .. } => aliases
            .iter()
            .filter_map(|alias| alias.resolved.clone().map(|target| (alias.binding.clone(), target)))
            .collect(),
        Import::From { result: FromResult::Bind(bindings), .. } => bindings.clone(),
        Import::From { .. } => Vec::new(),
    }
}
