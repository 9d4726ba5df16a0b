//! What a piece of source binds and imports, by Python's rules of scope.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, ExprContext, Stmt};
use ruff_text_size::{Ranged, TextSize};

use super::import::{FromResult, Import, ModuleAlias, NameAlias, resolves};

/// The import statements of a module, in the order of the source.
pub(super) fn imports_of(body: &[Stmt]) -> Vec<Import> {
    let mut collector = ImportCollector::default();
    collector.visit_body(body);
    collector.found
}

/// The names that `global` statements declare anywhere in `body`.
pub(super) fn declared_globals(body: &[Stmt]) -> Vec<String> {
    let mut collector = GlobalCollector::default();
    collector.visit_body(body);
    collector.found
}

/// Where the imports directly in one scope start.
pub(super) fn import_starts(body: &[Stmt]) -> Vec<TextSize> {
    let mut collector = StartCollector::default();
    collector.visit_body(body);
    collector.found
}

/// The names that assigning to a target binds.
pub(super) fn targets_of<'a>(targets: impl IntoIterator<Item = &'a Expr>) -> BTreeSet<String> {
    let mut collector = TargetCollector::default();
    for target in targets {
        collector.visit_expr(target);
    }
    collector.found
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
pub(super) struct Bound {
    pub(super) names: BTreeSet<String>,
    pub(super) globals: BTreeSet<String>,
    nonlocals: BTreeSet<String>,
}

impl Bound {
    /// Adds what `body` binds.
    pub(super) fn collect(&mut self, body: &[Stmt], imports: &[Import]) {
        let mut collector = BoundCollector { names: self, imports };
        collector.visit_body(body);
        for name in self.globals.iter().chain(&self.nonlocals) {
            self.names.remove(name);
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
                self.names.names.insert(function.name.to_string());
            }
            Stmt::ClassDef(class) => {
                self.names.names.insert(class.name.to_string());
            }
            Stmt::Global(global) => self.names.globals.extend(global.names.iter().map(ToString::to_string)),
            Stmt::Nonlocal(nonlocal) => {
                self.names.nonlocals.extend(nonlocal.names.iter().map(ToString::to_string));
            }
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.bind_import(statement.start()),
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx != ExprContext::Load => {
                self.names.names.insert(name.id.to_string());
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
            self.names.names.insert(name.to_string());
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
                        self.names.names.insert(alias.binding.clone());
                    }
                }
            }
            Import::From { names, .. } => {
                if !resolves(import, 0) {
                    self.names.names.extend(
                        names.iter().filter(|alias| alias.name != "*").map(|alias| alias.binding.clone()),
                    );
                }
            }
        }
    }
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
