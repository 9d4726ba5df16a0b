//! Gives every module its own name space in an interpreter that has only one.
//!
//! The interpreter knows no user modules: a session has one global name space. The linker rewrites a module's source so
//! that its global names become symbols of that space which no other module shares, and its imports of project modules
//! become references to the symbols of those modules. A name keeps its spelling wherever it can, so most sources are fed
//! unchanged but for their import lines. Line numbers never change.
//!
//! Scopes follow Python: function, class and comprehension scopes, `global`, `nonlocal`, names bound by any statement.
//! Not supported: a module as a value (`f(module)`), assignment to another module's attribute.

mod import;
mod program;
mod rewrite;
mod scope;

use std::collections::{BTreeMap, BTreeSet};

use super::names::{is_builtin, mangled};

pub(super) use import::{FromResult, Import, NameAlias, bindings};
pub(super) use program::Program;
pub(super) use rewrite::link_expression;

/// The owner of symbols that belong to no module: the linker's helpers, and names that nothing defines.
const NOBODY: usize = 0;

/// Helpers that linked code may call, fed before the first module that does.
pub(super) fn prelude() -> String {
    let missing = mangled("missing", NOBODY);
    let exit = mangled("exit", NOBODY);
    format!(
        "def {missing}(module, name):\n    raise AttributeError(f\"module '{{module}}' has no attribute '{{name}}'\")\n\
         def {exit}(code=None):\n    raise SystemExit('' if code is None else str(code))\n"
    )
}

/// The symbol that stands for `sys.argv`.
pub(super) fn argv_symbol() -> String {
    mangled("argv", NOBODY)
}

/// What a name of a module stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A global of the session.
    Symbol(String),
    /// Another module, by its number.
    Module(usize),
}

/// What the linker knows of a module.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Its dotted name: `__name__`.
    pub(super) name: String,
    /// Its file or directory.
    pub(super) path: String,
    /// Its global names.
    pub(super) names: BTreeMap<String, Target>,
    /// Global names bound by importing a module of the standard library, and that module.
    foreign: BTreeMap<String, String>,
}

/// All modules of a session, by number from 1, and the symbols they use.
#[derive(Debug, Default)]
pub(super) struct Registry {
    modules: Vec<Module>,
    by_path: BTreeMap<String, usize>,
    symbols: BTreeSet<String>,
}

impl Registry {
    /// The number of the module at `path`.
    pub(super) fn number(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// The module of a number that this registry gave.
    pub(super) fn module(&self, number: usize) -> &Module {
        &self.modules[number - 1]
    }

    /// Adds a module without names. One that is not `importable` is not found by its path.
    pub(super) fn add(&mut self, path: &str, name: &str, importable: bool) -> usize {
        self.modules.push(Module { name: name.to_owned(), path: path.to_owned(), ..Module::default() });
        let number = self.modules.len();
        if importable {
            self.by_path.insert(path.to_owned(), number);
        }
        number
    }

    /// Gives each global name of `program` a symbol, before its imports are loaded, so that a cycle sees them.
    pub(super) fn claim(&mut self, number: usize, program: &Program) {
        for name in &program.globals {
            let symbol = self.symbol(name, number);
            self.modules[number - 1].names.insert(name.clone(), Target::Symbol(symbol));
        }
    }

    fn symbol(&mut self, name: &str, owner: usize) -> String {
        if !is_builtin(name) && self.symbols.insert(name.to_owned()) {
            return name.to_owned();
        }
        let symbol = mangled(name, owner);
        self.symbols.insert(symbol.clone());
        symbol
    }

    /// Binds names of module `number` that an import at its top brought; a name the module binds otherwise stays its own.
    pub(super) fn import(&mut self, number: usize, bindings: &[(String, Target)]) {
        for (name, target) in bindings {
            self.modules[number - 1].names.entry(name.clone()).or_insert_with(|| target.clone());
        }
    }

    /// Notes the standard modules that the module's own names stand for.
    pub(super) fn note_foreign(&mut self, number: usize, program: &Program) {
        for import in &program.imports {
            if let Import::Module { aliases, .. } = import {
                for alias in aliases.iter().filter(|alias| alias.resolved.is_none()) {
                    self.modules[number - 1].foreign.insert(alias.binding.clone(), alias.name.clone());
                }
            }
        }
    }

    /// The attribute `name` of a module: one of its names, or a module below it that was loaded.
    pub(super) fn attribute(&self, number: usize, name: &str) -> Option<Target> {
        let module = self.module(number);
        if let Some(target) = module.names.get(name) {
            return Some(target.clone());
        }
        let directory = module.path.strip_suffix("/__init__.py").unwrap_or(&module.path);
        [
            format!("{directory}/{name}/__init__.py"),
            format!("{directory}/{name}.py"),
            format!("{directory}/{name}"),
        ]
        .iter()
        .find_map(|path| self.number(path))
        .map(Target::Module)
    }
}
