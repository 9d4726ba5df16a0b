//! Steps through tokens, with errors that say what was wanted.

use super::super::error::{ParseError, Reason};
use super::super::lexer::{Kind, Token, tokens};
use super::super::syntax::Number;
use super::super::types::Type;

/// No kernel has more registers of a kind, nor bytes of shared memory.
const LARGEST_COUNT: u64 = 1 << 20;

/// Tokens, and which of them is next.
pub(super) struct Cursor<'t> {
    tokens: Vec<Token<'t>>,
    next: usize,
}

impl<'t> Cursor<'t> {
    /// In front of a text's first token.
    pub(super) fn new(text: &'t str) -> Result<Self, ParseError> {
        Ok(Self { tokens: tokens(text)?, next: 0 })
    }

    /// Over one token.
    pub(super) fn skip(&mut self) {
        self.next += 1;
    }

    pub(super) fn number(&mut self) -> Result<Number<'t>, ParseError> {
        let negative = self.accept('-');
        match self.take().kind {
            Kind::Number(digits) => Ok(Number { negative, digits }),
            other => Err(self.unexpected(other, "an operand")),
        }
    }

    pub(super) fn count(&mut self) -> Result<u32, ParseError> {
        let number = self.number()?;
        let count = number.whole().filter(|&count| !number.negative && count <= LARGEST_COUNT);
        count.map(|count| count as u32).ok_or_else(|| self.unexpected(Kind::Number(number.digits), "a count"))
    }

    /// `.b32`.
    pub(super) fn kind(&mut self) -> Result<Type, ParseError> {
        let word = self.word("a type")?;
        let kind = word.strip_prefix('.').and_then(Type::named);
        kind.ok_or_else(|| self.unsupported(word))
    }

    pub(super) fn word(&mut self, wanted: &'static str) -> Result<&'t str, ParseError> {
        match self.take().kind {
            Kind::Word(word) => Ok(word),
            other => Err(self.unexpected(other, wanted)),
        }
    }

    pub(super) fn directive(&mut self, wanted: &'static str) -> Result<(), ParseError> {
        match self.take().kind {
            Kind::Word(word) if word == wanted => Ok(()),
            // Another directive in its place is one outside of the subset.
            Kind::Word(word) if word.starts_with('.') => Err(self.unsupported(word)),
            other => Err(self.unexpected(other, wanted)),
        }
    }

    pub(super) fn symbol(&mut self, wanted: char) -> Result<(), ParseError> {
        match self.take().kind {
            Kind::Symbol(symbol) if symbol == wanted => Ok(()),
            other => Err(self.unexpected(other, name_of(wanted))),
        }
    }

    pub(super) fn accept(&mut self, symbol: char) -> bool {
        let accepted = self.peek().kind == Kind::Symbol(symbol);
        self.next += usize::from(accepted);
        accepted
    }

    pub(super) fn peek(&self) -> Token<'t> {
        self.at(self.next)
    }

    pub(super) fn after(&self) -> Token<'t> {
        self.at(self.next + 1)
    }

    pub(super) fn take(&mut self) -> Token<'t> {
        let token = self.peek();
        self.next += 1;
        token
    }

    /// A token; behind the last one that one again, which is the end.
    fn at(&self, index: usize) -> Token<'t> {
        self.tokens[index.min(self.tokens.len() - 1)]
    }

    /// The line of the token that was taken last.
    fn line_taken(&self) -> usize {
        self.at(self.next.saturating_sub(1)).line
    }

    pub(super) fn unexpected(&self, found: Kind<'_>, wanted: &'static str) -> ParseError {
        ParseError { line: self.line_taken(), reason: Reason::Unexpected { found: shown(found), wanted } }
    }

    pub(super) fn unsupported(&self, what: &str) -> ParseError {
        ParseError { line: self.line_taken(), reason: Reason::Directive(what.to_owned()) }
    }
}

/// A token as it is written.
pub(super) fn shown(kind: Kind<'_>) -> String {
    match kind {
        Kind::Word(text) | Kind::Number(text) => text.to_owned(),
        Kind::Text(text) => format!("\"{text}\""),
        Kind::Symbol(symbol) => symbol.to_string(),
        Kind::End => "the end".to_owned(),
    }
}

/// A symbol in words, for errors.
fn name_of(symbol: char) -> &'static str {
    match symbol {
        ',' => "a comma",
        ';' => "a semicolon",
        '(' | '[' | '{' | '<' => "an opening bracket",
        _ => "a closing bracket",
    }
}
