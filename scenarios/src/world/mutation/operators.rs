//! What each operator does to which node.

use tree_sitter::Node;

use super::edit::{Edit, whole_lines};
use super::names::{is_read, locals, opens_scope, parameters};
use super::{Operator, preorder};

/// Most parameters that a `return` is tried with.
const RETURNED_PARAMETERS_MAX: usize = 2;

/// All edits within the body of a function, nested functions and docstrings left alone, in no particular order.
pub(super) fn edits(source: &str, definition: Node<'_>) -> Vec<Edit> {
    let Some(body) = definition.child_by_field_name("body") else { return Vec::new() };
    let mut site = Site::new(source, definition, body);
    for (node, parent) in preorder(body, |node| !opens_scope(node.kind()) && node.kind() != "type") {
        if let Some(parent) = parent {
            site.visit(node, parent);
        }
    }
    site.edits
}

/// The function being mutated.
struct Site<'a> {
    source: &'a str,
    locals: Vec<&'a str>,
    parameters: Vec<&'a str>,
    /// Distinct integers and plain strings (without quotes) of the body, in order of appearance.
    integers: Vec<u64>,
    strings: Vec<&'a str>,
    edits: Vec<Edit>,
}

impl<'a> Site<'a> {
    fn new(source: &'a str, definition: Node<'_>, body: Node<'_>) -> Self {
        let mut site = Self {
            source,
            locals: locals(source, definition),
            parameters: parameters(source, definition),
            integers: Vec::new(),
            strings: Vec::new(),
            edits: Vec::new(),
        };
        for (node, parent) in preorder(body, |node| !opens_scope(node.kind())) {
            let (integer, string) = (site.integer(node), parent.and_then(|parent| site.string(node, parent)));
            if let Some(value) = integer.filter(|value| !site.integers.contains(value)) {
                site.integers.push(value);
            }
            if let Some((_, _, text)) = string.filter(|(_, _, text)| !site.strings.contains(text)) {
                site.strings.push(text);
            }
        }
        site
    }

    fn text(&self, node: Node<'_>) -> &'a str {
        &self.source[node.byte_range()]
    }

    fn replace(&mut self, operator: Operator, node: Node<'_>, text: impl Into<String>) {
        self.edits.push(Edit { start: node.start_byte(), end: node.end_byte(), operator, text: text.into() });
    }

    fn visit(&mut self, node: Node<'_>, parent: Node<'_>) {
        match node.kind() {
            "comparison_operator" => self.comparison(node),
            "integer" if parent.kind() != "attribute" => self.constant(node),
            "string" => self.string_constant(node, parent),
            "binary_operator" | "augmented_assignment" => self.arithmetic(node),
            "boolean_operator" => self.boolean(node),
            "true" => self.replace(Operator::BooleanSwap, node, "False"),
            "false" => self.replace(Operator::BooleanSwap, node, "True"),
            "not_operator" | "unary_operator" => self.negation(node),
            "argument_list" if parent.kind() == "call" => self.arguments(node),
            "identifier" => self.variable(node, parent),
            "expression_statement"
            | "return_statement"
            | "continue_statement"
            | "break_statement"
            | "raise_statement"
            | "assert_statement" => self.statement(node, parent),
            "slice" => self.slice(node),
            "if_statement" => self.branches(node, parent),
            "conditional_expression" => self.conditional(node),
            _ => {}
        }
    }

    fn comparison(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let signs: Vec<Node<'_>> = node.children_by_field_name("operators", &mut cursor).collect();
        for sign in signs {
            let (flipped, boundary) = match self.text(sign) {
                "<" => (">", Some("<=")),
                "<=" => (">=", Some("<")),
                ">" => ("<", Some(">=")),
                ">=" => ("<=", Some(">")),
                "==" => ("!=", None),
                "!=" => ("==", None),
                "in" => ("not in", None),
                "is" => ("is not", None),
                other if other.starts_with("not") => ("in", None),
                other if other.starts_with("is") => ("is", None),
                _ => continue,
            };
            self.replace(Operator::ComparisonFlip, sign, flipped);
            if let Some(boundary) = boundary {
                self.replace(Operator::OffByOne, sign, boundary);
            }
        }
    }

    /// Value of a plain decimal integer.
    fn integer(&self, node: Node<'_>) -> Option<u64> {
        if node.kind() == "integer" { self.text(node).parse().ok() } else { None }
    }

    fn constant(&mut self, node: Node<'_>) {
        let Some(value) = self.integer(node) else { return };
        let neighbours = [value.checked_sub(1), value.checked_add(1)];
        for neighbour in neighbours.into_iter().flatten() {
            self.replace(Operator::OffByOne, node, neighbour.to_string());
        }
        let mut others = self.integers.clone();
        others.extend([value.checked_add(2), value.checked_mul(2)].into_iter().flatten());
        for other in others.into_iter().filter(|other| other.abs_diff(value) > 1) {
            self.replace(Operator::WrongConstant, node, other.to_string());
        }
    }

    /// Start, end and text between the quotes of a plain string: no prefix, no escape, not a statement by itself.
    fn string(&self, node: Node<'_>, parent: Node<'_>) -> Option<(usize, usize, &'a str)> {
        if node.kind() != "string" || matches!(parent.kind(), "expression_statement" | "concatenated_string")
        {
            return None;
        }
        let text = self.text(node);
        let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        let plain = !inner.contains([quote, '\\', '\n']);
        plain.then_some((node.start_byte() + 1, node.end_byte() - 1, inner))
    }

    fn string_constant(&mut self, node: Node<'_>, parent: Node<'_>) {
        let Some((start, end, inner)) = self.string(node, parent) else { return };
        let quote = &self.source[end..=end];
        let mut others: Vec<String> = vec![changed(inner)];
        let fits = |other: &&&str| **other != inner && !other.contains(quote);
        others.extend(self.strings.iter().filter(fits).map(|other| (*other).to_owned()));
        for text in others {
            self.edits.push(Edit { start, end, operator: Operator::WrongConstant, text });
        }
    }

    fn arithmetic(&mut self, node: Node<'_>) {
        let Some(sign) = node.child_by_field_name("operator") else { return };
        let text = self.text(sign);
        let (plain, suffix) = text.strip_suffix('=').map_or((text, ""), |plain| (plain, "="));
        let swapped = match plain {
            "+" => "-",
            "-" | "*" => "+",
            "/" | "//" | "**" => "*",
            "%" => "//",
            _ => return,
        };
        self.replace(Operator::ArithmeticSwap, sign, format!("{swapped}{suffix}"));
    }

    fn boolean(&mut self, node: Node<'_>) {
        let fields = ["left", "operator", "right"].map(|name| node.child_by_field_name(name));
        let [Some(left), Some(sign), Some(right)] = fields else { return };
        let swapped = if self.text(sign) == "and" { "or" } else { "and" };
        self.replace(Operator::BooleanSwap, sign, swapped);
        for part in [left, right] {
            self.replace(Operator::MissingBranch, node, self.text(part));
        }
    }

    fn negation(&mut self, node: Node<'_>) {
        let sign = node.child(0).map(|sign| self.text(sign));
        if let (Some("not" | "-"), Some(argument)) = (sign, node.child_by_field_name("argument")) {
            self.replace(Operator::RemovedNegation, node, self.text(argument));
        }
    }

    fn arguments(&mut self, list: Node<'_>) {
        let mut cursor = list.walk();
        let arguments: Vec<Node<'_>> = list.named_children(&mut cursor).collect();
        for pair in arguments.windows(2) {
            let &[first, second] = pair else { continue };
            let special = |node: Node<'_>| {
                matches!(node.kind(), "keyword_argument" | "list_splat" | "dictionary_splat" | "comment")
            };
            if special(first) || special(second) || self.text(first) == self.text(second) {
                continue;
            }
            let between = &self.source[first.end_byte()..second.start_byte()];
            let text = format!("{}{between}{}", self.text(second), self.text(first));
            let (start, end) = (first.start_byte(), second.end_byte());
            self.edits.push(Edit { start, end, operator: Operator::SwappedArguments, text });
        }
    }

    fn variable(&mut self, node: Node<'_>, parent: Node<'_>) {
        if !is_read(node, parent) {
            return;
        }
        let name = self.text(node);
        for other in self.locals.clone().into_iter().filter(|other| *other != name) {
            self.replace(Operator::WrongVariable, node, other);
        }
    }

    fn statement(&mut self, node: Node<'_>, block: Node<'_>) {
        if node.kind() == "return_statement" {
            self.returned(node);
        }
        let documentation = node.named_child(0).is_some_and(|child| child.kind() == "string");
        if !(node.kind() == "expression_statement" && documentation) {
            self.leave_out(Operator::DroppedStatement, node, block);
        }
    }

    /// Takes a statement out of its block, or puts `pass` in its place where the block or line needs one.
    fn leave_out(&mut self, operator: Operator, node: Node<'_>, block: Node<'_>) {
        let mut cursor = block.walk();
        let others = block.named_children(&mut cursor).filter(|child| child.kind() != "comment").count();
        match whole_lines(self.source, node.start_byte(), node.end_byte()) {
            Some((start, end)) if others > 1 => {
                self.edits.push(Edit { start, end, operator, text: String::new() });
            }
            _ => self.replace(operator, node, "pass"),
        }
    }

    fn returned(&mut self, node: Node<'_>) {
        let Some(value) = node.named_child(0) else { return };
        let text = self.text(value);
        if value.kind() == "comment" {
            return;
        }
        self.replace(Operator::ReturnValue, value, "None");
        for parameter in self.parameters.clone().into_iter().take(RETURNED_PARAMETERS_MAX) {
            self.replace(Operator::ReturnValue, value, parameter);
        }
        if matches!(value.kind(), "identifier" | "call" | "binary_operator") {
            self.replace(Operator::ReturnValue, value, format!("{text} + 1"));
        }
    }

    fn slice(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let mut bounds: [Option<Node<'_>>; 3] = [None; 3];
        let mut colons: Vec<usize> = Vec::new();
        for child in children {
            if child.kind() == ":" {
                colons.push(child.end_byte());
            } else if let Some(bound) = bounds.get_mut(colons.len()).filter(|_| child.is_named()) {
                *bound = Some(child);
            }
        }
        let operator = Operator::SliceBound;
        for bound in bounds.into_iter().flatten() {
            self.replace(operator, bound, "");
            if bound.kind() != "integer" {
                let text = self.text(bound);
                self.replace(operator, bound, format!("{text} + 1"));
                self.replace(operator, bound, format!("{text} - 1"));
            }
        }
        let absent = [(bounds[0], Some(node.start_byte()), "1"), (bounds[1], colons.first().copied(), "-1")];
        for (bound, place, text) in absent {
            if let (None, Some(at)) = (bound, place) {
                self.edits.push(Edit { start: at, end: at, operator, text: text.to_owned() });
            }
        }
    }

    fn branches(&mut self, node: Node<'_>, block: Node<'_>) {
        let mut cursor = node.walk();
        let clauses: Vec<Node<'_>> = node.children_by_field_name("alternative", &mut cursor).collect();
        if clauses.is_empty() {
            self.leave_out(Operator::MissingBranch, node, block);
        }
        for clause in clauses {
            if let Some((start, end)) = whole_lines(self.source, clause.start_byte(), clause.end_byte()) {
                let operator = Operator::MissingBranch;
                self.edits.push(Edit { start, end, operator, text: String::new() });
            }
        }
    }

    fn conditional(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let parts: Vec<Node<'_>> =
            node.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect();
        if let [value, _, other] = parts[..] {
            self.replace(Operator::MissingBranch, node, self.text(value));
            self.replace(Operator::MissingBranch, node, self.text(other));
        }
    }
}

/// A string that differs: without its last letter, or with the next letter or sign in place of its only one.
fn changed(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.next_back()) {
        (None, _) => "x".to_owned(),
        (Some(_), Some(_)) => {
            text[..text.len() - text.chars().next_back().map_or(0, char::len_utf8)].to_owned()
        }
        (Some('z' | 'Z' | '9'), None) => "a".to_owned(),
        (Some(only), None) if only.is_ascii_alphanumeric() => char::from(only as u8 + 1).to_string(),
        (Some('-'), None) => "+".to_owned(),
        (Some(_), None) => "-".to_owned(),
    }
}
