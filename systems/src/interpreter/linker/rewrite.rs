//! The pass over a syntax tree that replaces names by symbols.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, ExprContext, Parameters, Stmt};
use ruff_python_parser::parse_expression;
use ruff_text_size::{Ranged, TextRange};

use crate::interpreter::Fault;
use crate::interpreter::names::{is_builtin, mangled};

use super::import::{FromResult, Import, bindings};
use super::program::{check_shape, syntax_fault};
use super::scope::{Bound, import_starts, targets_of};
use super::{Module, NOBODY, Registry, Target, argv_symbol};

/// The longest chain of names that may lead through modules; it keeps linking linear.
const CHAIN_MAX: usize = 16;

/// The code that evaluates `expression` in the name space of module `number` to its `repr`.
pub(in crate::interpreter) fn link_expression(
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
pub(super) struct Linking<'r> {
    source: &'r str,
    registry: &'r Registry,
    number: Option<usize>,
    imports: &'r [Import],
    scopes: Vec<Scope>,
    edits: Vec<(TextRange, String)>,
    helpers: bool,
}

impl<'r> Linking<'r> {
    /// A pass over `source`, the text of module `number`.
    pub(super) fn new(
        source: &'r str,
        registry: &'r Registry,
        number: Option<usize>,
        imports: &'r [Import],
    ) -> Self {
        Self { source, registry, number, imports, scopes: Vec::new(), edits: Vec::new(), helpers: false }
    }

    /// The source with everything replaced, and whether it needs the prelude.
    pub(super) fn apply(mut self) -> (String, bool) {
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
            names.names.insert(parameter.name().to_string());
        }
        let aliases = self.aliases_of(body, &names.names);
        self.scopes.push(Scope { class: false, bound: names.names, globals: names.globals, aliases });
        visit(self);
        self.scopes.pop();
    }

    /// The names that project imports directly in `body` bring to its scope.
    fn aliases_of(&self, body: &[Stmt], bound: &BTreeSet<String>) -> BTreeMap<String, Target> {
        let starts = import_starts(body);
        let mut aliases = BTreeMap::new();
        for import in self.imports.iter().filter(|import| starts.contains(&import.start())) {
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
        let targets = targets_of(generators.iter().map(|generator| &generator.target));
        let scope =
            Scope { class: false, bound: targets, globals: BTreeSet::new(), aliases: BTreeMap::new() };
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
                    parts.push(format!("{own} = {symbol}"));
                }
                Resolution::Left if symbol != name => parts.push(format!("{name} = {symbol}")),
                _ => {}
            }
        }
        parts
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
                    linking.visit_body(&function.body);
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
                    linking.visit_expr(&lambda.body);
                });
            }
            Expr::ListComp(comprehension) => {
                self.visit_comprehension_of(&comprehension.generators, &[&comprehension.elt]);
            }
            Expr::SetComp(comprehension) => {
                self.visit_comprehension_of(&comprehension.generators, &[&comprehension.elt]);
            }
            Expr::Generator(comprehension) => {
                self.visit_comprehension_of(&comprehension.generators, &[&comprehension.elt]);
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
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
