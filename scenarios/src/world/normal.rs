//! Python source without what does not make it another program: names, comments, docstrings, layout.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Keywords and built-in names: these keep their meaning, so they are not renamed. Ascending.
const KEPT: &[&str] = &[
    "False",
    "None",
    "True",
    "abs",
    "all",
    "and",
    "any",
    "as",
    "assert",
    "async",
    "await",
    "bool",
    "break",
    "chr",
    "class",
    "continue",
    "def",
    "del",
    "dict",
    "divmod",
    "elif",
    "else",
    "enumerate",
    "except",
    "filter",
    "finally",
    "float",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "int",
    "is",
    "isinstance",
    "lambda",
    "len",
    "list",
    "map",
    "max",
    "min",
    "nonlocal",
    "not",
    "or",
    "ord",
    "pass",
    "pow",
    "print",
    "raise",
    "range",
    "repr",
    "return",
    "reversed",
    "round",
    "set",
    "sorted",
    "str",
    "sum",
    "try",
    "tuple",
    "type",
    "while",
    "with",
    "yield",
    "zip",
];

/// The normal form of Python source: one line for each logical line, led by its depth of indentation, tokens separated
/// by spaces, names numbered in order of appearance (attributes and built-in names kept), without comments, docstrings
/// and blank lines. Two sources with the same form are the same program under other names. Total: any text has one.
///
/// ```
/// use tadpole_scenarios::world::normalised;
/// let first = normalised("def f(a):\n    '''Doc.'''\n    return a+1  # one\n");
/// assert_eq!(first, normalised("def add_one(x):\n\n  return x + 1"));
/// assert_ne!(first, normalised("def f(a):\n    return a+2\n"));
/// ```
#[must_use]
pub fn normalised(source: &str) -> String {
    let mut form = Form::default();
    let mut lexer = Lexer { rest: source, at_line_start: true };
    while let Some(token) = lexer.next() {
        form.take(token);
    }
    form.end_line();
    form.text
}

#[derive(Clone, Copy)]
enum Token<'a> {
    /// Indentation of a line with something on it, in columns.
    Indent(usize),
    Newline,
    Name(&'a str),
    String(&'a str),
    Other(&'a str),
}

/// Collects tokens into lines and lines into the form.
#[derive(Default)]
struct Form<'a> {
    text: String,
    names: BTreeMap<&'a str, usize>,
    indents: Vec<usize>,
    brackets: usize,
    line: Vec<Token<'a>>,
}

impl<'a> Form<'a> {
    fn take(&mut self, token: Token<'a>) {
        match token {
            Token::Indent(columns) if self.brackets == 0 => {
                while self.indents.last().is_some_and(|last| *last > columns) {
                    self.indents.pop();
                }
                if self.indents.last().is_none_or(|last| *last < columns) {
                    self.indents.push(columns);
                }
            }
            Token::Indent(_) => {}
            Token::Newline if self.brackets > 0 => {}
            Token::Newline => self.end_line(),
            Token::Other(sign) => {
                match sign {
                    "(" | "[" | "{" => self.brackets += 1,
                    ")" | "]" | "}" => self.brackets = self.brackets.saturating_sub(1),
                    _ => {}
                }
                self.line.push(token);
            }
            Token::Name(_) | Token::String(_) => self.line.push(token),
        }
    }

    /// Writes the line, unless it is empty or nothing but strings: a docstring.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.iter().all(|token| matches!(token, Token::String(_))) {
            return;
        }
        let depth = self.indents.len().saturating_sub(1);
        // Writing to a string cannot fail.
        write!(self.text, "{depth}").ok();
        let mut after_dot = false;
        for token in line {
            self.text.push(' ');
            match token {
                Token::Name(name) if !after_dot && KEPT.binary_search(&name).is_err() => {
                    let next = self.names.len();
                    let number = *self.names.entry(name).or_insert(next);
                    write!(self.text, "v{number}").ok();
                }
                Token::Name(text) | Token::String(text) | Token::Other(text) => self.text.push_str(text),
                Token::Indent(_) | Token::Newline => {}
            }
            after_dot = matches!(token, Token::Other("."));
        }
        self.text.push('\n');
    }
}

struct Lexer<'a> {
    rest: &'a str,
    at_line_start: bool,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        if self.at_line_start {
            self.at_line_start = false;
            let columns = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
            self.rest = &self.rest[columns..];
            if !self.rest.starts_with(['\n', '\r', '#']) && !self.rest.is_empty() {
                return Some(Token::Indent(columns));
            }
        }
        self.skip_blank();
        let first = self.rest.chars().next()?;
        if first == '\n' {
            self.at_line_start = true;
            self.cut(1);
            return Some(Token::Newline);
        }
        let length = string_length(self.rest);
        if length > 0 {
            return Some(Token::String(self.cut(length)));
        }
        let word = word_length(self.rest);
        if word > 0 {
            let text = self.cut(word);
            return Some(if first.is_ascii_digit() { Token::Other(text) } else { Token::Name(text) });
        }
        let length = sign_length(self.rest).unwrap_or(first.len_utf8());
        Some(Token::Other(self.cut(length)))
    }

    /// Skips blanks, comments and joined lines.
    fn skip_blank(&mut self) {
        loop {
            let trimmed = self.rest.trim_start_matches([' ', '\t', '\r', '\x0c']);
            self.rest = if let Some(comment) = trimmed.strip_prefix('#') {
                &comment[comment.find('\n').unwrap_or(comment.len())..]
            } else if let Some(joined) = trimmed.strip_prefix("\\\n") {
                joined
            } else if let Some(joined) = trimmed.strip_prefix("\\\r\n") {
                joined
            } else {
                self.rest = trimmed;
                return;
            };
        }
    }

    fn cut(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }
}

/// Length of a name or number at the start.
fn word_length(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// Length of an operator of more than one sign at the start.
fn sign_length(text: &str) -> Option<usize> {
    const SIGNS: &[&str] = &[
        "**=", "//=", ">>=", "<<=", "...", "**", "//", ">>", "<<", "<=", ">=", "==", "!=", "->", ":=", "+=",
        "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=",
    ];
    SIGNS.iter().find(|sign| text.starts_with(**sign)).map(|sign| sign.len())
}

/// Length of a string literal with its prefix at the start; 0 where there is none. An unclosed one ends with its line,
/// an unclosed triple-quoted one with the text.
fn string_length(text: &str) -> usize {
    let prefix = text.bytes().take(2).take_while(|b| b"rRbBfFuU".contains(b)).count();
    let body = &text[prefix..];
    let Some(quote) = body.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return 0 };
    let triple: String = [quote; 3].iter().collect();
    let long = body.starts_with(&triple);
    let opening = if long { 3 } else { 1 };
    let mut escaped = false;
    for (at, c) in body.char_indices().skip(opening) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == '\n' && !long {
            return prefix + at;
        } else if c == quote && (!long || body[at..].starts_with(&triple)) {
            return prefix + at + opening;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn kept_names_are_sorted() {
        assert!(KEPT.is_sorted());
    }

    #[test]
    fn names_comments_docstrings_and_layout_do_not_count() {
        let first = "import m\n\ndef f(a, b):\n    \"\"\"Doc,\n    two lines.\"\"\"\n    # Note.\n    if a > b:\n        return g(a)\n    return a.b # end\n";
        let second = "import k\ndef h(x, y):\n  if x > \\\n     y:\n\n    return q( x )\n\n  return x . b";
        assert_eq!(normalised(first), normalised(second));
    }

    #[test]
    fn constants_operators_strings_attributes_and_structure_count() {
        let base = "def f(a):\n    if a > 1:\n        a.b()\n    return '#x'\n";
        for (from, to) in [
            ("1", "2"),
            (">", ">="),
            ("#x", "#y"),
            ("a.b", "a.c"),
            ("    return", "        return"),
            ("return", "raise"),
        ] {
            assert_ne!(normalised(base), normalised(&base.replace(from, to)), "{from} to {to}");
        }
    }

    #[test]
    fn brackets_join_lines() {
        assert_eq!(normalised("x = [\n    1,\n 2]\n"), normalised("y = [1, 2]"));
    }

    proptest! {
        #[test]
        fn any_text_has_a_form(text in "[a-z0-9 \t\r\n\"'#\\\\(\\[{}\\]):+.é]{0,60}") {
            prop_assert_eq!(normalised(&text), normalised(&text));
        }
    }
}
