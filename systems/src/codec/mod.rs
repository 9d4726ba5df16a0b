//! How messages and tool calls are spelled for a policy, apart from what the tools mean.
//!
//! A codec renders messages to [`Piece`]s and parses a policy's text back to [`ToolCall`]s. Pieces keep template and
//! content apart, so that a special token spelled inside a task or a tool's output is never taken for one.

mod hermes;
mod json;

pub use hermes::Hermes;

use serde_json::{Map, Value};

/// A stretch of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Written by the template: special tokens in it are special, the longest first.
    Template(String),
    /// Written by a task, a tool or a policy: nothing in it is special, whatever it spells.
    Text(String),
}

impl Piece {
    /// What the piece spells.
    pub fn text(&self) -> &str {
        match self {
            Self::Template(text) | Self::Text(text) => text,
        }
    }
}

/// The whole of what `pieces` spell.
pub fn spelled(pieces: &[Piece]) -> String {
    pieces.iter().map(Piece::text).collect()
}

/// A call of a tool, as a policy wrote it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCall {
    /// The tool's name; empty where none could be read.
    pub name: String,
    /// Its arguments; empty where they could not be read.
    pub arguments: Map<String, Value>,
    /// What was wrong with the spelling, if anything.
    pub fault: Option<String>,
}

impl ToolCall {
    /// A call of `name` with string arguments.
    pub fn new(name: &str, arguments: &[(&str, &str)]) -> Self {
        let arguments =
            arguments.iter().map(|&(key, value)| (key.to_owned(), Value::String(value.to_owned()))).collect();
        Self { name: name.to_owned(), arguments, fault: None }
    }

    /// The call that stands where something was meant as one and cannot be read.
    pub fn malformed(fault: String) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }
}

/// A turn of a policy, parsed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// What stands outside the calls.
    pub content: String,
    /// The calls, in order.
    pub calls: Vec<ToolCall>,
}

/// A tool, as a prompt describes it and a codec orders its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolSchema {
    /// Name.
    pub name: &'static str,
    /// What it does, one sentence.
    pub description: &'static str,
    /// Parameters, in the order in which a call spells them.
    pub parameters: &'static [Parameter],
}

/// A parameter of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name.
    pub name: &'static str,
    /// JSON schema type: `string`, `integer`, `number` or `boolean`.
    pub kind: &'static str,
    /// What it means, one sentence.
    pub description: &'static str,
    /// Whether a call must give it.
    pub required: bool,
}

/// The spelling of messages and calls. Every prompt is built by appending, so a history is always an exact prefix of the
/// next prompt and token ids are never rendered twice.
pub trait Codec: Send + Sync {
    /// System and user message and the opening of the policy's first turn. An empty `system` is an empty message.
    fn opening(&self, system: &str, user: &str) -> Vec<Piece>;

    /// What follows the end-of-turn token of a policy's turn: its calls' results, in order, and the opening of the next
    /// turn.
    fn continuation(&self, results: &[String]) -> Vec<Piece>;

    /// A policy's turn, as it would itself write it; without the end-of-turn token.
    fn turn(&self, content: &str, calls: &[ToolCall]) -> Vec<Piece>;

    /// The special token that ends a policy's turn.
    fn end_of_turn(&self) -> &'static str;

    /// The part of a system prompt that lists `tools` and says how to call them.
    fn describe(&self, tools: &[ToolSchema]) -> String;

    /// Parses what a policy wrote in one turn, end-of-turn token left out. Anything that was meant as a call is one: where
    /// it cannot be read it carries a fault.
    fn parse(&self, text: &str) -> Turn;
}
