//! Local variables of a function, and where one is read.

use tree_sitter::Node;

use super::preorder;

/// Local variables of a function in order of appearance: parameters, targets of assignments and of loops. Those of
/// comprehensions and of nested functions are not among them.
pub(super) fn locals<'a>(source: &'a str, definition: Node<'_>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for (node, parent) in preorder(definition, |node| node == definition || !opens_scope(node.kind())) {
        let Some(parent) = parent else { continue };
        if node.kind() == "identifier" && (is_parameter(node, parent, definition) || is_target(node, parent))
        {
            let name = &source[node.byte_range()];
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Parameters of a function, in order.
pub(super) fn parameters<'a>(source: &'a str, definition: Node<'_>) -> Vec<&'a str> {
    preorder(definition, |node| node == definition || !(opens_scope(node.kind()) || node.kind() == "block"))
        .filter_map(|(node, parent)| Some((node, parent?)))
        .filter(|(node, parent)| node.kind() == "identifier" && is_parameter(*node, *parent, definition))
        .map(|(node, _)| &source[node.byte_range()])
        .collect()
}

/// Whether an identifier stands where another variable may stand: it is read, or updated in place.
pub(super) fn is_read(node: Node<'_>, parent: Node<'_>) -> bool {
    let is_field = |name| parent.child_by_field_name(name) == Some(node);
    match parent.kind() {
        "attribute" => is_field("object"),
        "keyword_argument" | "named_expression" => is_field("value"),
        "call" => !is_field("function"),
        "assignment" | "for_statement" | "for_in_clause" => is_field("right"),
        "augmented_assignment"
        | "argument_list"
        | "binary_operator"
        | "boolean_operator"
        | "comparison_operator"
        | "not_operator"
        | "unary_operator"
        | "subscript"
        | "slice"
        | "return_statement"
        | "expression_statement"
        | "parenthesized_expression"
        | "conditional_expression"
        | "if_clause"
        | "list"
        | "tuple"
        | "set"
        | "pair"
        | "expression_list"
        | "interpolation"
        | "list_comprehension"
        | "set_comprehension"
        | "generator_expression"
        | "await"
        | "raise_statement" => true,
        "if_statement" | "elif_clause" | "while_statement" => is_field("condition"),
        _ => false,
    }
}

/// Whether names inside a node of this kind are not the function's own.
pub(super) fn opens_scope(kind: &str) -> bool {
    matches!(kind, "function_definition" | "class_definition" | "lambda")
}

fn is_parameter(node: Node<'_>, parent: Node<'_>, definition: Node<'_>) -> bool {
    match parent.kind() {
        "parameters" => true,
        "default_parameter" | "typed_default_parameter" => parent.child_by_field_name("name") == Some(node),
        "typed_parameter" => parent.child(0) == Some(node),
        // Star parameters are patterns directly below the list of parameters.
        "list_splat_pattern" | "dictionary_splat_pattern" => parent
            .parent()
            .is_some_and(|list| list.kind() == "parameters" && list.parent() == Some(definition)),
        _ => false,
    }
}

/// Whether an identifier is assigned to, by itself or as part of a pattern.
fn is_target(node: Node<'_>, parent: Node<'_>) -> bool {
    let (mut inner, mut outer) = (node, parent);
    while matches!(outer.kind(), "pattern_list" | "tuple_pattern" | "list_pattern" | "list_splat_pattern") {
        let Some(next) = outer.parent() else { return false };
        (inner, outer) = (outer, next);
    }
    matches!(outer.kind(), "assignment" | "for_statement") && outer.child_by_field_name("left") == Some(inner)
}
