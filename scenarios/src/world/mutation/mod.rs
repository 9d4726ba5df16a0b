//! Faults by syntax-tree mutation of Python functions. Serves any Python source, not only the embedded world's.
//!
//! Architecture invariant: edits replace whole syntax nodes or whole lines by text that is legal in their place, so a
//! mutant of a source that parses parses too; it is not parsed again to find out.

mod edit;
mod names;
mod operators;
mod preference;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tree_sitter::{Node, Parser, Tree};

pub use preference::preference;

/// What kind of mistake a mutant makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// A comparison turned round: `<` for `>`, `!=` for `==`, `not in` for `in`.
    ComparisonFlip,
    /// A constant one too high or low, or a comparison that takes its boundary in or leaves it out.
    OffByOne,
    /// Another arithmetic operator.
    ArithmeticSwap,
    /// `and` for `or`, `True` for `False`.
    BooleanSwap,
    /// Another local variable.
    WrongVariable,
    /// Another constant, not the next one.
    WrongConstant,
    /// Two arguments of a call in each other's place.
    SwappedArguments,
    /// A `not` or a minus left out.
    RemovedNegation,
    /// A statement left out.
    DroppedStatement,
    /// A bound of a slice left out, moved or added.
    SliceBound,
    /// Another value returned.
    ReturnValue,
    /// A branch of a condition, or a part of a compound one, left out.
    MissingBranch,
}

impl Operator {
    /// All operators, in order.
    pub const ALL: [Self; 12] = [
        Self::ComparisonFlip,
        Self::OffByOne,
        Self::ArithmeticSwap,
        Self::BooleanSwap,
        Self::WrongVariable,
        Self::WrongConstant,
        Self::SwappedArguments,
        Self::RemovedNegation,
        Self::DroppedStatement,
        Self::SliceBound,
        Self::ReturnValue,
        Self::MissingBranch,
    ];

    /// Its name, as events and tables have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ComparisonFlip => "comparison_flip",
            Self::OffByOne => "off_by_one",
            Self::ArithmeticSwap => "arithmetic_swap",
            Self::BooleanSwap => "boolean_swap",
            Self::WrongVariable => "wrong_variable",
            Self::WrongConstant => "wrong_constant",
            Self::SwappedArguments => "swapped_arguments",
            Self::RemovedNegation => "removed_negation",
            Self::DroppedStatement => "dropped_statement",
            Self::SliceBound => "slice_bound",
            Self::ReturnValue => "return_value",
            Self::MissingBranch => "missing_branch",
        }
    }
}

/// A source with one mistake in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// What kind of mistake.
    pub operator: Operator,
    /// What was done, e.g. `` `<` became `<=` ``.
    pub description: String,
    /// First byte of the original that was replaced.
    pub start: u32,
    /// One past the last.
    pub end: u32,
    /// Line of the edit, from 1, in the original and in the mutant alike.
    pub line: u32,
    /// That line of the original, without indentation.
    pub before: String,
    /// That line of the mutant, without indentation; `None` where lines were left out.
    pub after: Option<String>,
    /// The line with text on it before that line, without indentation.
    pub previous: String,
    /// The whole source with the mistake.
    pub source: String,
}

/// Why a source has no mutants.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MutationError {
    /// It does not parse.
    #[error("line {line}: not Python")]
    NotPython {
        /// Line of the first fault, from 1.
        line: u32,
    },
    /// It has no such function.
    #[error("there is no function {0}")]
    NoSuchFunction(String),
    /// The grammar refused to load, or the parser gave up.
    #[error("the Python parser failed: {0}")]
    Parser(String),
    /// Larger than 4 GiB.
    #[error("the source is too large")]
    TooLarge,
}

/// Mutants of the first function of that name, in a fixed order: by place, then by operator.
///
/// ```
/// use tadpole_scenarios::world::{Operator, mutants};
/// let source = "def low(n):\n    return n < 5\n";
/// let all = mutants(source, "low")?;
/// assert!(all.iter().any(|m| m.operator == Operator::OffByOne && m.after.as_deref() == Some("return n <= 5")));
/// # Ok::<(), tadpole_scenarios::world::MutationError>(())
/// ```
pub fn mutants(source: &str, function: &str) -> Result<Vec<Mutant>, MutationError> {
    PythonSource::parse(source)?.mutants(function)
}

/// A parsed source, for several functions of one file: a parse costs as much as hundreds of mutants.
pub struct PythonSource<'a> {
    text: &'a str,
    tree: Tree,
}

impl<'a> PythonSource<'a> {
    /// Parses `text`.
    pub fn parse(text: &'a str) -> Result<Self, MutationError> {
        if u32::try_from(text.len()).is_err() {
            return Err(MutationError::TooLarge);
        }
        let mut parser = Parser::new();
        parser
            .set_language(&tree_sitter_python::LANGUAGE.into())
            .map_err(|error| MutationError::Parser(error.to_string()))?;
        let Some(tree) = parser.parse(text, None) else {
            return Err(MutationError::Parser("it gave up".to_owned()));
        };
        match first_fault(tree.root_node()) {
            Some(fault) => Err(MutationError::NotPython { line: fault.start_position().row as u32 + 1 }),
            None => Ok(Self { text, tree }),
        }
    }

    /// Names of all functions, nested ones and methods too, in order of appearance.
    #[must_use]
    pub fn functions(&self) -> Vec<&'a str> {
        let definitions = preorder(self.tree.root_node(), |_| true);
        definitions.filter_map(|(node, _)| self.name_of(node)).collect()
    }

    /// Mutants of the first function of that name.
    pub fn mutants(&self, function: &str) -> Result<Vec<Mutant>, MutationError> {
        let mut nodes = preorder(self.tree.root_node(), |_| true);
        let definition = nodes.find(|(node, _)| self.name_of(*node) == Some(function));
        let Some((definition, _)) = definition else {
            return Err(MutationError::NoSuchFunction(function.to_owned()));
        };
        let mut edits = operators::edits(self.text, definition);
        edits.sort();
        Ok(edit::apply_each(self.text, edits))
    }

    fn name_of(&self, node: Node<'_>) -> Option<&'a str> {
        if node.kind() != "function_definition" {
            return None;
        }
        node.child_by_field_name("name").map(|name| &self.text[name.byte_range()])
    }
}

fn first_fault(root: Node<'_>) -> Option<Node<'_>> {
    if !root.has_error() {
        return None;
    }
    let mut nodes = preorder(root, |node| node.has_error());
    Some(nodes.find(|(node, _)| node.is_error() || node.is_missing()).map_or(root, |(node, _)| node))
}

/// Nodes below and with `root`, each with its parent, parents before children, without what lies below a node that
/// `enter` refuses. Keeps its own stack: sources may be nested deeper than ours.
fn preorder<'tree>(
    root: Node<'tree>,
    enter: impl Fn(Node<'tree>) -> bool,
) -> impl Iterator<Item = (Node<'tree>, Option<Node<'tree>>)> {
    let mut waiting = vec![(root, None)];
    std::iter::from_fn(move || {
        let (node, parent) = waiting.pop()?;
        if enter(node) {
            let mut cursor = node.walk();
            let children: Vec<Node<'tree>> = node.children(&mut cursor).collect();
            waiting.extend(children.into_iter().rev().map(|child| (child, Some(node))));
        }
        Some((node, parent))
    })
}
