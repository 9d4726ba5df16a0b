//! A module's source, parsed: its names, imports and tests.

use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{self as ast, Stmt};
use ruff_python_parser::parse_module;
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::interpreter::{Fault, Frame, Raised, TestFunction};

use super::Registry;
use super::import::Import;
use super::rewrite::Linking;
use super::scope::{Bound, declared_globals, imports_of};

/// The longest source accepted, bytes: it bounds the depth of its syntax tree.
const SOURCE_BYTES_MAX: usize = 256 << 10;

/// The deepest nesting of brackets, as in `CPython`.
const BRACKETS_MAX: usize = 200;

/// A parsed module.
#[derive(Debug)]
pub(in crate::interpreter) struct Program {
    source: String,
    body: Vec<Stmt>,
    /// Every global name that the module itself binds (and those of standard imports), sorted.
    pub(super) globals: Vec<String>,
    /// Its imports; the caller fills in what they resolve to.
    pub(in crate::interpreter) imports: Vec<Import>,
}

impl Program {
    /// Parses the bytes of a file; `path` is what an error names.
    pub(in crate::interpreter) fn parse(bytes: &[u8], path: &str) -> Result<Self, Fault> {
        let source = decode(bytes, path)?;
        check_shape(&source, path)?;
        let parsed = parse_module(&source)
            .map_err(|error| syntax_fault(&source, path, error.location, &error.error.to_string()))?;
        let body: Vec<Stmt> = parsed.into_syntax().body.into_iter().collect();
        let imports = imports_of(&body);
        Ok(Self { source, body, globals: Vec::new(), imports })
    }

    /// Finds the global names, once the imports say which of them are of project modules.
    pub(in crate::interpreter) fn bind(&mut self) {
        let mut names = Bound::default();
        names.collect(&self.body, &self.imports);
        let mut globals = names.names;
        globals.extend(declared_globals(&self.body));
        self.globals = globals.into_iter().collect();
    }

    /// The text of a line, from 1, trimmed.
    pub(in crate::interpreter) fn line(&self, number: u32) -> &str {
        self.source.lines().nth(number as usize - 1).unwrap_or("").trim()
    }

    /// Whether a statement at the top binds `name` before `end`.
    pub(in crate::interpreter) fn binds_before(&self, name: &str, end: TextSize) -> bool {
        let statements = self.body.partition_point(|statement| statement.start() < end);
        let mut names = Bound::default();
        names.collect(&self.body[..statements], &self.imports);
        names.names.contains(name)
    }

    /// The test functions, in order.
    pub(in crate::interpreter) fn tests(&self) -> Vec<TestFunction> {
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

    /// The source to feed for module `number`, whose imports came to `imports`; and whether it needs the prelude.
    pub(in crate::interpreter) fn link(
        &self,
        registry: &Registry,
        number: usize,
        imports: &[Import],
    ) -> (String, bool) {
        let mut linking = Linking::new(&self.source, registry, Some(number), imports);
        linking.visit_body(&self.body);
        linking.apply()
    }
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

pub(super) fn check_shape(source: &str, path: &str) -> Result<(), Fault> {
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
            let line = line_of(source, TextSize::new(at as u32));
            return Err(syntax_error(path, line, "", "too many nested parentheses"));
        }
    }
    Ok(())
}

pub(super) fn syntax_fault(source: &str, path: &str, range: TextRange, message: &str) -> Fault {
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
    let end = at.to_usize().min(source.len());
    source.as_bytes()[..end].split(|&byte| byte == b'\n').count() as u32
}
