//! A session: modules loaded depth-first through the linker into one virtual machine.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::rc::Rc;

use monty_types::MontyObject;
use ruff_text_size::TextSize;

use super::linker::{self, FromResult, Import, Program, Registry, Target};
use super::modules::{self, Found, directory_of, dotted};
use super::monty::Vm;
use super::names::demangled;
use super::{Budget, Fault, Session, Sources, Stop, TestFunction};

/// How deep imports may nest.
const IMPORT_DEPTH_MAX: usize = 64;

enum State {
    /// Its imports are being loaded; the offset is that of the import being loaded now.
    Loading(Rc<Program>, TextSize),
    Loaded(Rc<Program>),
    /// A package without code.
    Directory,
    Failed(Fault),
}

/// A [`Session`] over a [`Vm`].
pub(super) struct LinkedSession<'a> {
    sources: &'a dyn Sources,
    search: Vec<String>,
    budget: Budget,
    vm: Vm,
    registry: Registry,
    states: BTreeMap<usize, State>,
    depth: usize,
    has_prelude: bool,
    kept_output: Vec<u8>,
}

impl<'a> LinkedSession<'a> {
    pub(super) fn new(sources: &'a dyn Sources, search: &[String], budget: Budget) -> Self {
        Self {
            sources,
            search: search.to_vec(),
            budget,
            vm: Vm::new(budget),
            registry: Registry::default(),
            states: BTreeMap::new(),
            depth: 0,
            has_prelude: false,
            kept_output: Vec::new(),
        }
    }

    fn load_found(&mut self, found: &Found, name: &str) -> Result<usize, Fault> {
        if let Some(number) = self.registry.number(found.path()) {
            return match self.states.get(&number) {
                Some(State::Failed(fault)) => Err(fault.clone()),
                _ => Ok(number),
            };
        }
        let number = self.registry.add(found.path(), name, true);
        let Found::File(path) = found else {
            self.states.insert(number, State::Directory);
            return Ok(number);
        };
        let sources = self.sources;
        let bytes = match sources.read(path) {
            None if path == modules::PYTEST_PATH => Cow::Borrowed(modules::PYTEST_SOURCE),
            bytes => bytes.unwrap_or_default(),
        };
        self.load_new(number, &bytes, path).map(|()| number)
    }

    /// Loads the source of a module just added.
    fn load_new(&mut self, number: usize, bytes: &[u8], path: &str) -> Result<(), Fault> {
        if self.depth == IMPORT_DEPTH_MAX {
            return Err(Fault::raised("RecursionError", "imports nest too deeply"));
        }
        self.depth += 1;
        let result = self.load_program(number, bytes, path);
        self.depth -= 1;
        match result {
            Ok(program) => {
                self.states.insert(number, State::Loaded(program));
                Ok(())
            }
            Err(fault) => {
                self.states.insert(number, State::Failed(fault.clone()));
                Err(fault)
            }
        }
    }

    fn load_program(&mut self, number: usize, bytes: &[u8], path: &str) -> Result<Rc<Program>, Fault> {
        let mut program = Program::parse(bytes, path)?;
        for import in &mut program.imports {
            self.classify(import, path);
        }
        let mut imports = program.imports.clone();
        program.bind();
        self.registry.claim(number, &program);
        self.registry.note_foreign(number, &program);
        let program = Rc::new(program);
        for import in &mut imports {
            self.states.insert(number, State::Loading(Rc::clone(&program), import.start()));
            self.resolve(import, path)?;
            if is_top(import) {
                self.registry.import(number, &linker::bindings(import));
            }
        }
        let (code, helpers) = program.link(&self.registry, number, &imports);
        if helpers {
            self.feed_prelude()?;
        }
        self.vm.feed(&code, path, &program)?;
        Ok(program)
    }

    /// Notes whether an import is of a project module, without loading it.
    fn classify(&self, import: &mut Import, path: &str) {
        match import {
            Import::Module { aliases, .. } => {
                for alias in aliases {
                    if modules::find(self.sources, &self.search, &alias.name).is_some() {
                        alias.resolved = Some(Target::Module(0));
                    }
                }
            }
            Import::From { module, level, result, .. } => {
                if self.find_from(module, *level, path).is_some() {
                    *result = FromResult::Bind(Vec::new());
                }
            }
        }
    }

    fn find_from(&self, module: &str, level: u32, path: &str) -> Option<Found> {
        if level == 0 {
            return modules::find(self.sources, &self.search, module);
        }
        let mut directory = directory_of(path);
        for _ in 1..level {
            if directory.is_empty() {
                return None;
            }
            directory = directory_of(directory);
        }
        if module.is_empty() {
            let package = modules::join(directory, "__init__.py");
            return Some(match self.sources.read(&package) {
                Some(_) => Found::File(package),
                None => Found::Directory(directory.to_owned()),
            });
        }
        modules::find_in(self.sources, directory, module)
    }

    /// Loads what an import names, and says what its names mean.
    fn resolve(&mut self, import: &mut Import, path: &str) -> Result<(), Fault> {
        match import {
            Import::Module { aliases, .. } => {
                for alias in aliases.iter_mut().filter(|alias| alias.resolved.is_some()) {
                    let (first, last) = self.load_dotted(&alias.name)?;
                    alias.resolved = Some(Target::Module(if alias.renamed { last } else { first }));
                }
                Ok(())
            }
            Import::From { result: FromResult::Foreign, .. } => Ok(()),
            Import::From { module, level, names, top, result, .. } => {
                let Some(found) = self.find_from(module, *level, path) else { return Ok(()) };
                let number = if *level == 0 {
                    self.load_dotted(module)?.1
                } else {
                    self.load_found(&found, &dotted(found.path()))?
                };
                *result = self.resolve_names(number, &found, names, *top)?;
                Ok(())
            }
        }
    }

    /// Loads `a`, `a.b` and `a.b.c` for `a.b.c`; returns the first and the last.
    fn load_dotted(&mut self, name: &str) -> Result<(usize, usize), Fault> {
        let mut numbers = Vec::new();
        for end in name.match_indices('.').map(|(at, _)| at).chain([name.len()]) {
            let part = &name[..end];
            let Some(found) = modules::find(self.sources, &self.search, part) else {
                return Err(Fault::raised("ModuleNotFoundError", format!("No module named '{part}'")));
            };
            numbers.push(self.load_found(&found, part)?);
        }
        match (numbers.first(), numbers.last()) {
            (Some(first), Some(last)) => Ok((*first, *last)),
            _ => Err(Fault::raised("ModuleNotFoundError", format!("No module named '{name}'"))),
        }
    }

    fn resolve_names(
        &mut self,
        number: usize,
        found: &Found,
        names: &[linker::NameAlias],
        top: bool,
    ) -> Result<FromResult, Fault> {
        let mut bindings = Vec::new();
        for alias in names {
            if alias.name == "*" {
                let public =
                    self.registry.module(number).names.iter().filter(|(name, _)| !name.starts_with('_'));
                bindings.extend(public.map(|(name, target)| (name.clone(), target.clone())));
                continue;
            }
            if let Some(target) = self.attribute(number, found, &alias.name)? {
                let is_name = matches!(target, Target::Symbol(_));
                if top && is_name && !self.is_bound_now(number, &alias.name) {
                    return Ok(FromResult::Raise(self.partial_message(number, &alias.name)));
                }
                bindings.push((alias.binding.clone(), target));
            } else {
                let module = self.registry.module(number);
                return Ok(FromResult::Raise(format!(
                    "cannot import name '{}' from '{}' ({})",
                    alias.name, module.name, module.path
                )));
            }
        }
        Ok(FromResult::Bind(bindings))
    }

    /// A name of a module, or the module of that name below it, loaded now.
    fn attribute(&mut self, number: usize, found: &Found, name: &str) -> Result<Option<Target>, Fault> {
        if let Some(target) = self.registry.attribute(number, name) {
            return Ok(Some(target));
        }
        let directory = match found {
            Found::Directory(directory) => directory.as_str(),
            Found::File(path) => match path.strip_suffix("__init__.py") {
                Some(directory) => directory.trim_end_matches('/'),
                None => return Ok(None),
            },
        };
        match modules::find_in(self.sources, directory, name) {
            Some(below) => Ok(Some(Target::Module(self.load_found(&below, &dotted(below.path()))?))),
            None => Ok(None),
        }
    }

    /// Whether a module that may still be loading has bound the name already.
    fn is_bound_now(&self, number: usize, name: &str) -> bool {
        match self.states.get(&number) {
            Some(State::Loading(program, at)) => program.binds_before(name, *at),
            _ => true,
        }
    }

    fn partial_message(&self, number: usize, name: &str) -> String {
        let module = self.registry.module(number);
        format!(
            "cannot import name '{name}' from partially initialized module '{}' (most likely due to a circular import) ({})",
            module.name, module.path
        )
    }

    fn feed_prelude(&mut self) -> Result<(), Fault> {
        if !self.has_prelude {
            self.has_prelude = true;
            self.vm.feed_anonymous(&linker::prelude())?;
        }
        Ok(())
    }

    fn program(&self, path: &str) -> Option<(usize, &Rc<Program>)> {
        let number = self.registry.number(path)?;
        match self.states.get(&number) {
            Some(State::Loaded(program)) => Some((number, program)),
            _ => None,
        }
    }
}

fn is_top(import: &Import) -> bool {
    match import {
        Import::Module { top, .. } | Import::From { top, .. } => *top,
    }
}

impl Session for LinkedSession<'_> {
    fn find(&self, name: &str) -> Option<String> {
        match modules::find(self.sources, &self.search, name)? {
            Found::File(path) => Some(path),
            Found::Directory(_) => None,
        }
    }

    fn load(&mut self, path: &str) -> Result<(), Fault> {
        if self.sources.read(path).is_none() {
            return Err(Fault::raised(
                "FileNotFoundError",
                format!("[Errno 2] No such file or directory: '{path}'"),
            ));
        }
        self.load_found(&Found::File(path.to_owned()), &dotted(path)).map(drop)
    }

    fn tests(&self, path: &str) -> Vec<TestFunction> {
        self.program(path).map(|(_, program)| program.tests()).unwrap_or_default()
    }

    fn call_test(&mut self, path: &str, test: &TestFunction) -> Result<(), Fault> {
        let Some((number, _)) = self.program(path) else { return Err(Fault::Stopped(Stop::Aborted)) };
        let (holder, method) = match test.name.split_once("::") {
            Some((class, method)) => (class, Some(method)),
            None => (test.name.as_str(), None),
        };
        let Some(Target::Symbol(symbol)) = self.registry.module(number).names.get(holder) else {
            return Err(Fault::Stopped(Stop::Aborted));
        };
        let code = match method {
            Some(method) => format!("{symbol}().{method}()"),
            None => format!("{symbol}()"),
        };
        self.vm.feed_anonymous(&code).map(drop)
    }

    fn evaluate(&mut self, path: Option<&str>, expression: &str) -> Result<String, Fault> {
        let number = match path {
            Some(path) => {
                Some(self.program(path).map(|(number, _)| number).ok_or(Fault::Stopped(Stop::Aborted))?)
            }
            None => None,
        };
        let (code, helpers) = linker::link_expression(&self.registry, number, expression)?;
        if helpers {
            self.feed_prelude()?;
        }
        match self.vm.feed_anonymous(&code)? {
            MontyObject::String(text) => Ok(demangled(&text)),
            _ => Err(Fault::Stopped(Stop::Aborted)),
        }
    }

    fn run_main(&mut self, shown: &str, source: &[u8], arguments: &[String]) -> Result<(), Fault> {
        let list = arguments.iter().map(|argument| python_string(argument)).collect::<Vec<_>>().join(", ");
        self.vm.feed_anonymous(&format!("{} = [{list}]", linker::argv_symbol()))?;
        let number = self.registry.add(shown, "__main__", false);
        self.load_new(number, source, shown)
    }

    fn take_output(&mut self) -> Vec<u8> {
        let mut output = std::mem::take(&mut self.kept_output);
        output.extend(self.vm.take_output());
        output
    }

    fn reset(&mut self) {
        let output = self.take_output();
        *self = Self::new(self.sources, &self.search, self.budget);
        self.kept_output = output;
    }
}

/// A Python literal of a string.
fn python_string(text: &str) -> String {
    let mut literal = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => literal.extend(['\\', c]),
            ' '..='~' => literal.push(c),
            // Writing to a string cannot fail.
            _ => {
                write!(literal, "\\U{:08x}", c as u32).ok();
            }
        }
    }
    literal.push('\'');
    literal
}
