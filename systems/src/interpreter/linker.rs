//! Gives every module its own name space in an interpreter that has only one.
//!
//! The interpreter knows no user modules: a session has one global name space. The linker rewrites a module's source so
//! that its global names become symbols of that space which no other module shares, and its imports of project modules
//! become references to the symbols of those modules. A name keeps its spelling wherever it can, so most sources are fed
//! unchanged but for their import lines. Line numbers never change.
//!
//! Scopes follow Python: function, class and comprehension scopes, `global`, `nonlocal`, names bound by any statement.
//! Not supported: a module as a value (`f(module)`), assignment to another module's attribute.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, ExprContext, Parameters, Stmt};
use ruff_python_parser::{parse_expression, parse_module};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::names::{is_builtin, mangled};
use super::{Fault, Frame, Raised, TestFunction};

/// The owner of symbols that belong to no module: the linker's helpers, and names that nothing defines.
const NOBODY: usize = 0;

/// The longest source accepted, bytes: it bounds the depth of its syntax tree.
const SOURCE_BYTES_MAX: usize = 256 << 10;

/// The deepest nesting of brackets, as in CPython.
const BRACKETS_MAX: usize = 200;

/// The longest chain of names that may lead through modules; it keeps linking linear.
const CHAIN_MAX: usize = 16;

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

/// One name of an `import a.b as c`.
#[derive(Clone, Debug)]
pub(super) struct ModuleAlias {
    /// `a.b`.
    pub(super) name: String,
    /// `c`, or `a` without an `as`.
    binding: String,
    /// Whether there is an `as`: the name then means `a.b`, and otherwise `a`.
    pub(super) renamed: bool,
    /// What it means, once resolved to a project module.
    pub(super) resolved: Option<Target>,
}

/// One name of a `from m import a as b`.
#[derive(Clone, Debug)]
pub(super) struct NameAlias {
    /// `a`.
    pub(super) name: String,
    /// `b`, or `a` without an `as`.
    pub(super) binding: String,
}

/// What a `from` import comes to.
#[derive(Clone, Debug)]
pub(super) enum FromResult {
    /// The interpreter's own affair: a standard module, or none.
    Foreign,
    /// These names, of project modules.
    Bind(Vec<(String, Target)>),
    /// `ImportError` with this message.
    Raise(String),
}

/// An import statement, in the order of the source, wherever it stands.
#[derive(Clone, Debug)]
pub(super) enum Import {
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
    pub(super) fn start(&self) -> TextSize {
        match self {
            Self::Module { start, .. } | Self::From { start, .. } => *start,
        }
    }
}

/// A parsed module.
#[derive(Debug)]
pub(super) struct Program {
    source: String,
    body: Vec<Stmt>,
    /// Every global name that the module itself binds (and those of standard imports), sorted.
    globals: Vec<String>,
    /// Its imports; the caller fills in what they resolve to.
    pub(super) imports: Vec<Import>,
}

impl Program {
    /// Parses the bytes of a file; `path` is what an error names.
    pub(super) fn parse(bytes: &[u8], path: &str) -> Result<Self, Fault> {
        let source = decode(bytes, path)?;
        check_shape(&source, path)?;
        let parsed = parse_module(&source)
            .map_err(|error| syntax_fault(&source, path, error.location, &error.error.to_string()))?;
        let body: Vec<Stmt> = parsed.into_syntax().body.into_iter().collect();
        let mut imports = ImportCollector::default();
        imports.visit_body(&body);
        Ok(Self { source, body, globals: Vec::new(), imports: imports.found })
    }

    /// Finds the global names, once the imports say which of them are of project modules.
    pub(super) fn bind(&mut self) {
        let mut names = Bound::default();
        names.collect(&self.body, &self.imports);
        let mut globals = names.bound;
        let mut declared = GlobalCollector::default();
        declared.visit_body(&self.body);
        globals.extend(declared.found);
        self.globals = globals.into_iter().collect();
    }

    /// The text of a line, from 1, trimmed.
    pub(super) fn line(&self, number: u32) -> &str {
        self.source.lines().nth(number as usize - 1).unwrap_or("").trim()
    }

    /// Whether a statement at the top binds `name` before `end`.
    pub(super) fn binds_before(&self, name: &str, end: TextSize) -> bool {
        let statements = self.body.partition_point(|statement| statement.start() < end);
        let mut names = Bound::default();
        names.collect(&self.body[..statements], &self.imports);
        names.bound.contains(name)
    }

    /// The test functions, in order.
    pub(super) fn tests(&self) -> Vec<TestFunction> {
        let mut tests = Vec::new();
        for statement in &self.body {
            match statement {
                Stmt::FunctionDef(function) if function.name.starts_with("test") => {
                    tests.push(self.test(function, function.name.to_string(), false));
                }
                Stmt::ClassDef(class) if class.name.starts_with("Test") => {
                    for statement in &class.body {
                        if let Stmt::FunctionDef(method) = statement
                            && method.name.starts_with("test")
                        {
                            tests.push(self.test(method, format!("{}::{}", class.name, method.name), true));
                        }
                    }
                }
                _ => {}
            }
        }
        tests
    }

    fn test(&self, function: &ast::StmtFunctionDef, name: String, method: bool) -> TestFunction {
        let fixtures = function
            .parameters
            .posonlyargs
            .iter()
            .chain(&function.parameters.args)
            .skip(usize::from(method))
            .filter(|parameter| parameter.default.is_none() && function.decorator_list.is_empty())
            .map(|parameter| parameter.parameter.name.to_string())
            .collect();
        TestFunction { name, line: line_of(&self.source, function.name.start()), fixtures }
    }

    /// The source to feed for module `number`, and whether it needs the prelude.
    pub(super) fn link(&self, registry: &Registry, number: usize) -> (String, bool) {
        let mut linking = Linking::new(&self.source, registry, Some(number), &self.imports);
        linking.visit_body(&self.body);
        linking.apply()
    }
}

/// The code that evaluates `expression` in the name space of module `number` to its `repr`.
pub(super) fn link_expression(
    registry: &Registry,
    number: Option<usize>,
    expression: &str,
) -> Result<(String, bool), Fault> {
    const SHOWN: &str = "<expression>";
    check_shape(expression, SHOWN)?;
    let parsed = parse_expression(expression)
        .map_err(|error| syntax_fault(expression, SHOWN, error.location, &error.error.to_string()))?;
    let mut linking = Linking::new(expression, registry, number, &[]);
    linking.visit_expr(&parsed.syntax().body);
    let (code, helpers) = linking.apply();
    Ok((format!("repr(({code}\n))"), helpers))
}

fn decode(bytes: &[u8], path: &str) -> Result<String, Fault> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => {
            Err(syntax_error(path, 1, "", "source code cannot contain null bytes"))
        }
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let at = error.valid_up_to();
            let message = format!(
                "(unicode error) 'utf-8' codec can't decode byte 0x{:02x} in position {at}",
                bytes[at]
            );
            Err(syntax_error(path, 1, "", &message))
        }
    }
}

fn check_shape(source: &str, path: &str) -> Result<(), Fault> {
    if source.len() > SOURCE_BYTES_MAX {
        return Err(syntax_error(path, 1, "", "source too large"));
    }
    let mut depth = 0_usize;
    for (at, byte) in source.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > BRACKETS_MAX {
            let line = 1 + source.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count();
            return Err(syntax_error(path, line as u32, "", "too many nested parentheses"));
        }
    }
    Ok(())
}

fn syntax_fault(source: &str, path: &str, range: TextRange, message: &str) -> Fault {
    let line = line_of(source, range.start());
    let text = source.lines().nth(line as usize - 1).unwrap_or("").trim();
    syntax_error(path, line, text, message)
}

fn syntax_error(path: &str, line: u32, text: &str, message: &str) -> Fault {
    let frame = Frame { path: path.to_owned(), line, function: "<module>".to_owned(), text: text.to_owned() };
    Fault::Raised(Box::new(Raised {
        kind: "SyntaxError".to_owned(),
        message: message.to_owned(),
        frames: vec![frame],
    }))
}

fn line_of(source: &str, at: TextSize) -> u32 {
    1 + source.as_bytes()[..at.to_usize().min(source.len())].iter().filter(|&&byte| byte == b'\n').count()
        as u32
}

/// Finds the import statements.
#[derive(Default)]
struct ImportCollector {
    found: Vec<Import>,
    inside: u32,
}

impl<'a> Visitor<'a> for ImportCollector {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let top = self.inside == 0;
        match statement {
            Stmt::Import(import) => {
                let aliases = import.names.iter().map(module_alias).collect();
                self.found.push(Import::Module { start: import.start(), aliases, top });
            }
            Stmt::ImportFrom(import) => {
                let names = import
                    .names
                    .iter()
                    .map(|alias| NameAlias {
                        name: alias.name.to_string(),
                        binding: alias.asname.as_ref().unwrap_or(&alias.name).to_string(),
                    })
                    .collect();
                self.found.push(Import::From {
                    start: import.start(),
                    module: import.module.as_ref().map(ToString::to_string).unwrap_or_default(),
                    level: import.level,
                    names,
                    top,
                    result: FromResult::Foreign,
                });
            }
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {
                self.inside += 1;
                visitor::walk_stmt(self, statement);
                self.inside -= 1;
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}

fn module_alias(alias: &ast::Alias) -> ModuleAlias {
    let name = alias.name.to_string();
    let binding = match &alias.asname {
        Some(asname) => asname.to_string(),
        None => name.split('.').next().unwrap_or("").to_owned(),
    };
    ModuleAlias { name, binding, renamed: alias.asname.is_some(), resolved: None }
}

/// Finds the names that `global` statements declare anywhere.
#[derive(Default)]
struct GlobalCollector {
    found: Vec<String>,
}

impl<'a> Visitor<'a> for GlobalCollector {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Global(global) = statement {
            self.found.extend(global.names.iter().map(ToString::to_string));
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}

/// The names that one scope binds.
#[derive(Default)]
struct Bound {
    bound: BTreeSet<String>,
    globals: BTreeSet<String>,
    nonlocals: BTreeSet<String>,
}

impl Bound {
    fn collect(&mut self, body: &[Stmt], imports: &[Import]) {
        let mut collector = BoundCollector { names: self, imports };
        collector.visit_body(body);
        for name in self.globals.iter().chain(&self.nonlocals) {
            self.bound.remove(name);
        }
    }
}

struct BoundCollector<'b> {
    names: &'b mut Bound,
    imports: &'b [Import],
}

impl<'a> Visitor<'a> for BoundCollector<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => {
                self.names.bound.insert(function.name.to_string());
            }
            Stmt::ClassDef(class) => {
                self.names.bound.insert(class.name.to_string());
            }
            Stmt::Global(global) => self.names.globals.extend(global.names.iter().map(ToString::to_string)),
            Stmt::Nonlocal(nonlocal) => {
                self.names.nonlocals.extend(nonlocal.names.iter().map(ToString::to_string))
            }
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.bind_import(statement.start()),
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx != ExprContext::Load => {
                self.names.bound.insert(name.id.to_string());
            }
            Expr::Lambda(_) => {}
            _ => visitor::walk_expr(self, expression),
        }
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        // The target belongs to the comprehension; a `:=` inside it belongs here.
        self.visit_expr(&comprehension.iter);
        for condition in &comprehension.ifs {
            self.visit_expr(condition);
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ast::ExceptHandler) {
        let ast::ExceptHandler::ExceptHandler(clause) = handler;
        if let Some(name) = &clause.name {
            self.names.bound.insert(name.to_string());
        }
        visitor::walk_except_handler(self, handler);
    }
}

impl BoundCollector<'_> {
    fn bind_import(&mut self, start: TextSize) {
        let Some(import) = self.imports.iter().find(|import| import.start() == start) else { return };
        match import {
            Import::Module { aliases, .. } => {
                for (at, alias) in aliases.iter().enumerate() {
                    if !resolves(import, at) {
                        self.names.bound.insert(alias.binding.clone());
                    }
                }
            }
            Import::From { names, .. } => {
                if !resolves(import, 0) {
                    self.names.bound.extend(
                        names.iter().filter(|alias| alias.name != "*").map(|alias| alias.binding.clone()),
                    );
                }
            }
        }
    }
}

/// A scope below the module's.
struct Scope {
    class: bool,
    bound: BTreeSet<String>,
    globals: BTreeSet<String>,
    aliases: BTreeMap<String, Target>,
}

/// What a name comes to where it stands.
enum Resolution {
    /// A local name, or a builtin: left alone.
    Left,
    Target(Target),
    Undefined,
}

/// The pass over a syntax tree that finds what to replace.
struct Linking<'r> {
    source: &'r str,
    registry: &'r Registry,
    number: Option<usize>,
    imports: &'r [Import],
    scopes: Vec<Scope>,
    edits: Vec<(TextRange, String)>,
    helpers: bool,
}

impl<'r> Linking<'r> {
    fn new(source: &'r str, registry: &'r Registry, number: Option<usize>, imports: &'r [Import]) -> Self {
        Self { source, registry, number, imports, scopes: Vec::new(), edits: Vec::new(), helpers: false }
    }

    fn apply(mut self) -> (String, bool) {
        let source = self.source;
        self.edits.sort_by_key(|(range, _)| (range.start(), range.end()));
        let mut code = String::with_capacity(source.len() + 64);
        let mut at = 0;
        for (range, text) in &self.edits {
            code.push_str(&source[at..range.start().to_usize()]);
            code.push_str(text);
            at = range.end().to_usize();
        }
        code.push_str(&source[at..]);
        (code, self.helpers)
    }

    fn module(&self) -> Option<&'r Module> {
        self.number.map(|number| self.registry.module(number))
    }

    fn resolve(&self, name: &str) -> Resolution {
        let innermost = self.scopes.len().wrapping_sub(1);
        for (at, scope) in self.scopes.iter().enumerate().rev() {
            if scope.class && at != innermost {
                continue;
            }
            if scope.globals.contains(name) {
                break;
            }
            if scope.bound.contains(name) {
                return Resolution::Left;
            }
            if let Some(target) = scope.aliases.get(name) {
                return Resolution::Target(target.clone());
            }
        }
        self.resolve_global(name)
    }

    fn resolve_global(&self, name: &str) -> Resolution {
        match self.module().and_then(|module| module.names.get(name)) {
            Some(target) => Resolution::Target(target.clone()),
            None if is_builtin(name) => Resolution::Left,
            None => Resolution::Undefined,
        }
    }

    /// The symbol of a global name that is bound here.
    fn own_symbol(&self, name: &str) -> Option<&'r str> {
        match self.module()?.names.get(name)? {
            Target::Symbol(symbol) => Some(symbol),
            Target::Module(_) => None,
        }
    }

    /// Whether a name bound at this place is a global one.
    fn binds_globally(&self, name: &str) -> bool {
        self.scopes.last().is_none_or(|scope| scope.globals.contains(name))
    }

    fn rename_binding(&mut self, name: &ast::Identifier) {
        if self.binds_globally(name.as_str())
            && let Some(symbol) = self.own_symbol(name.as_str())
            && symbol != name.as_str()
        {
            self.edits.push((name.range, symbol.to_owned()));
        }
    }

    fn edit_name(&mut self, name: &ast::ExprName) {
        match self.resolve(name.id.as_str()) {
            Resolution::Target(Target::Symbol(symbol)) if symbol != name.id.as_str() => {
                self.edits.push((name.range, symbol));
            }
            Resolution::Undefined => self.edit_undefined(name),
            Resolution::Left
                if matches!(name.id.as_str(), "exit" | "quit") && self.is_free(name.id.as_str()) =>
            {
                self.helpers = true;
                self.edits.push((name.range, mangled("exit", NOBODY)));
            }
            Resolution::Left | Resolution::Target(_) => {}
        }
    }

    /// Whether no scope here binds the name, so that it is the builtin.
    fn is_free(&self, name: &str) -> bool {
        !self.scopes.iter().any(|scope| scope.bound.contains(name))
    }

    fn edit_undefined(&mut self, name: &ast::ExprName) {
        let module = self.module();
        let text = match name.id.as_str() {
            "__name__" => format!("'{}'", module.map_or("__main__", |module| &module.name)),
            "__file__" => format!("'{}'", module.map_or("", |module| &module.path)),
            other => mangled(other, NOBODY),
        };
        self.edits.push((name.range, text));
    }

    /// What a chain `a.b.c` of at most `depth` names comes to; `Err` is an attribute that its module does not have.
    fn resolve_chain(&self, expression: &Expr, depth: usize) -> Option<Result<Target, (usize, String)>> {
        match expression {
            Expr::Name(name) => match self.resolve(name.id.as_str()) {
                Resolution::Target(target @ Target::Module(_)) => Some(Ok(target)),
                _ => None,
            },
            Expr::Attribute(attribute) => {
                match self.resolve_chain(&attribute.value, depth.checked_sub(1)?)? {
                    Ok(Target::Module(number)) => {
                        let name = attribute.attr.as_str();
                        Some(self.registry.attribute(number, name).ok_or_else(|| (number, name.to_owned())))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Replaces `module.name`; `false` if it is no such thing.
    fn edit_attribute(&mut self, attribute: &ast::ExprAttribute, whole: &Expr) -> bool {
        if attribute.ctx != ExprContext::Load {
            return false;
        }
        match self.resolve_chain(whole, CHAIN_MAX) {
            Some(Ok(Target::Symbol(symbol))) => self.edits.push((attribute.range, symbol)),
            Some(Err((number, name))) => {
                self.helpers = true;
                let module = &self.registry.module(number).name;
                self.edits
                    .push((attribute.range, format!("{}('{module}', '{name}')", mangled("missing", NOBODY))));
            }
            Some(Ok(Target::Module(_))) => {}
            None => return self.edit_system(attribute),
        }
        true
    }

    /// Replaces `sys.exit` and `sys.argv`.
    fn edit_system(&mut self, attribute: &ast::ExprAttribute) -> bool {
        let Expr::Name(name) = attribute.value.as_ref() else { return false };
        let symbol = match attribute.attr.as_str() {
            "exit" => mangled("exit", NOBODY),
            "argv" => argv_symbol(),
            _ => return false,
        };
        let is_sys = self.module().is_some_and(|module| {
            module.foreign.get(name.id.as_str()).is_some_and(|foreign| foreign == "sys")
        });
        if is_sys {
            self.helpers = true;
            self.edits.push((attribute.range, symbol));
        }
        is_sys
    }

    fn in_function(&mut self, parameters: Option<&Parameters>, body: &[Stmt], visit: impl FnOnce(&mut Self)) {
        let mut names = Bound::default();
        names.collect(body, self.imports);
        for parameter in parameters.into_iter().flat_map(|parameters| parameters.iter()) {
            names.bound.insert(parameter.name().to_string());
        }
        let aliases = self.aliases_of(body, &names.bound);
        self.scopes.push(Scope { class: false, bound: names.bound, globals: names.globals, aliases });
        visit(self);
        self.scopes.pop();
    }

    /// The names that project imports directly in `body` bring to its scope.
    fn aliases_of(&self, body: &[Stmt], bound: &BTreeSet<String>) -> BTreeMap<String, Target> {
        let mut starts = StartCollector::default();
        starts.visit_body(body);
        let mut aliases = BTreeMap::new();
        for import in self.imports.iter().filter(|import| starts.found.contains(&import.start())) {
            for (name, target) in bindings(import) {
                if !bound.contains(&name) {
                    aliases.insert(name, target);
                }
            }
        }
        aliases
    }

    fn visit_defaults(&mut self, parameters: &Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = &parameter.default {
                self.visit_expr(default);
            }
        }
    }

    fn visit_comprehension_of(&mut self, generators: &[ast::Comprehension], results: &[&Expr]) {
        let mut targets = TargetCollector::default();
        for generator in generators {
            targets.visit_expr(&generator.target);
        }
        let scope =
            Scope { class: false, bound: targets.found, globals: BTreeSet::new(), aliases: BTreeMap::new() };
        self.scopes.push(scope);
        for generator in generators {
            self.visit_expr(&generator.iter);
            self.visit_expr(&generator.target);
            for condition in &generator.ifs {
                self.visit_expr(condition);
            }
        }
        for result in results {
            self.visit_expr(result);
        }
        self.scopes.pop();
    }

    fn edit_import(&mut self, statement: &Stmt, source_aliases: &[ast::Alias]) {
        let Some(import) = self.imports.iter().find(|import| import.start() == statement.start()) else {
            return;
        };
        match import {
            Import::Module { aliases, .. } if aliases.iter().all(|alias| alias.resolved.is_none()) => {
                self.rename_aliases(source_aliases);
            }
            Import::From { result: FromResult::Foreign, .. } => self.rename_aliases(source_aliases),
            Import::From { result: FromResult::Raise(message), .. } => {
                let text = format!("raise ImportError({})", quoted(message));
                self.replace_statement(statement.range(), vec![text]);
            }
            Import::Module { .. } | Import::From { .. } => {
                let parts = self.import_parts(import);
                self.replace_statement(statement.range(), parts);
            }
        }
    }

    /// Replaces a statement by others that take as many lines.
    fn replace_statement(&mut self, range: TextRange, mut parts: Vec<String>) {
        let lines = self.source[range].matches('\n').count();
        if lines > 0 {
            parts.push(format!("(None{})", "\n".repeat(lines)));
        } else if parts.is_empty() {
            parts.push("pass".to_owned());
        }
        self.edits.push((range, parts.join("; ")));
    }

    /// Gives the names of a standard import the symbols of this module.
    fn rename_aliases(&mut self, aliases: &[ast::Alias]) {
        for alias in aliases {
            let bound = alias.asname.as_ref().unwrap_or(&alias.name);
            if !self.binds_globally(bound.as_str()) {
                continue;
            }
            let Some(symbol) = self.own_symbol(bound.as_str()).filter(|symbol| *symbol != bound.as_str())
            else {
                continue;
            };
            match &alias.asname {
                Some(asname) => self.edits.push((asname.range, symbol.to_owned())),
                None => self.edits.push((TextRange::empty(alias.name.range.end()), format!(" as {symbol}"))),
            }
        }
    }

    /// What stands in place of a project import: assignments to names that the scope also binds otherwise.
    fn import_parts(&self, import: &Import) -> Vec<String> {
        let mut parts = Vec::new();
        if let Import::Module { aliases, .. } = import {
            for alias in aliases.iter().filter(|alias| alias.resolved.is_none()) {
                let symbol = self.own_symbol(&alias.binding).unwrap_or(&alias.binding);
                let renamed = if alias.renamed || symbol != alias.binding {
                    format!(" as {symbol}")
                } else {
                    String::new()
                };
                parts.push(format!("import {}{renamed}", alias.name));
            }
        }
        for (name, target) in bindings(import) {
            let Target::Symbol(symbol) = target else { continue };
            match self.resolve(&name) {
                Resolution::Target(Target::Symbol(own)) if own != symbol => {
                    parts.push(format!("{own} = {symbol}"))
                }
                Resolution::Left if symbol != name => parts.push(format!("{name} = {symbol}")),
                _ => {}
            }
        }
        parts
    }
}

/// Whether an import is one of a project module, once it was resolved.
pub(super) fn resolves(import: &Import, at: usize) -> bool {
    match import {
        Import::Module { aliases, .. } => aliases[at].resolved.is_some(),
        Import::From { result, .. } => !matches!(result, FromResult::Foreign),
    }
}

/// What a resolved import binds.
pub(super) fn bindings(import: &Import) -> Vec<(String, Target)> {
    match import {
        Import::Module { aliases, .. } => aliases
            .iter()
            .filter_map(|alias| alias.resolved.clone().map(|target| (alias.binding.clone(), target)))
            .collect(),
        Import::From { result: FromResult::Bind(bindings), .. } => bindings.clone(),
        Import::From { .. } => Vec::new(),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Finds where the imports of one scope start.
#[derive(Default)]
struct StartCollector {
    found: Vec<TextSize>,
}

impl<'a> Visitor<'a> for StartCollector {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.found.push(statement.start()),
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}

/// Finds the names of an assignment target.
#[derive(Default)]
struct TargetCollector {
    found: BTreeSet<String>,
}

impl<'a> Visitor<'a> for TargetCollector {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx == ExprContext::Store => {
                self.found.insert(name.id.to_string());
            }
            _ => visitor::walk_expr(self, expression),
        }
    }
}

impl<'a> Visitor<'a> for Linking<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => {
                for decorator in &function.decorator_list {
                    self.visit_decorator(decorator);
                }
                self.visit_defaults(&function.parameters);
                self.rename_binding(&function.name);
                self.in_function(Some(&function.parameters), &function.body, |linking| {
                    linking.visit_body(&function.body)
                });
            }
            Stmt::ClassDef(class) => {
                for decorator in &class.decorator_list {
                    self.visit_decorator(decorator);
                }
                if let Some(arguments) = &class.arguments {
                    self.visit_arguments(arguments);
                }
                self.rename_binding(&class.name);
                self.in_function(None, &class.body, |linking| {
                    if let Some(scope) = linking.scopes.last_mut() {
                        scope.class = true;
                    }
                    linking.visit_body(&class.body);
                });
            }
            Stmt::Global(global) => {
                for name in &global.names {
                    self.rename_binding(name);
                }
            }
            Stmt::Import(import) => self.edit_import(statement, &import.names),
            Stmt::ImportFrom(import) => self.edit_import(statement, &import.names),
            _ => visitor::walk_stmt(self, statement),
        }
    }

    // Annotations are not evaluated.
    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) => self.edit_name(name),
            Expr::Attribute(attribute) if self.edit_attribute(attribute, expression) => {}
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    self.visit_defaults(parameters);
                }
                self.in_function(lambda.parameters.as_deref(), &[], |linking| {
                    linking.visit_expr(&lambda.body)
                });
            }
            Expr::ListComp(comprehension) => {
                self.visit_comprehension_of(&comprehension.generators, &[&comprehension.elt])
            }
            Expr::SetComp(comprehension) => {
                self.visit_comprehension_of(&comprehension.generators, &[&comprehension.elt])
            }
            Expr::Generator(comprehension) => {
                self.visit_comprehension_of(&comprehension.generators, &[&comprehension.elt])
            }
            Expr::DictComp(comprehension) => {
                let results: Vec<&Expr> =
                    comprehension.key.as_deref().into_iter().chain([comprehension.value.as_ref()]).collect();
                self.visit_comprehension_of(&comprehension.generators, &results);
            }
            _ => visitor::walk_expr(self, expression),
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ast::ExceptHandler) {
        let ast::ExceptHandler::ExceptHandler(clause) = handler;
        if let Some(name) = &clause.name {
            self.rename_binding(name);
        }
        visitor::walk_except_handler(self, handler);
    }
}
