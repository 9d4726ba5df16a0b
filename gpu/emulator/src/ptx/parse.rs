//! From tokens to syntax.

use super::error::{ParseError, Reason};
use super::lexer::{Kind, Token, tokens};
use super::syntax::{Entry, Number, Operand, Registers, Shared, Statement, Syntax, Written};
use super::types::Type;

/// No kernel has more registers of a kind, nor bytes of shared memory.
const LARGEST_COUNT: u64 = 1 << 20;

/// Reads a module.
pub(super) fn parse(text: &str) -> Result<Syntax<'_>, ParseError> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0 };
    parser.header()?;
    let mut syntax = Syntax { dynamic: Vec::new(), entries: Vec::new() };
    while parser.peek().kind != Kind::End {
        match parser.word("a directive")? {
            ".extern" => syntax.dynamic.push(parser.dynamic()?),
            ".visible" => syntax.entries.push(parser.entry()?),
            other => return Err(parser.unsupported(other)),
        }
    }
    Ok(syntax)
}

/// Tokens, and which of them is next.
struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    next: usize,
}

impl<'t> Parser<'t> {
    /// `.version 9.0 .target sm_80 .address_size 64`.
    fn header(&mut self) -> Result<(), ParseError> {
        let rules: [(&str, fn(&str) -> bool); 3] = [
            // Meanings that are relied upon here have not changed since; a later version could.
            (".version", |version| version == "9.0"),
            (".target", |target| target.starts_with("sm_")),
            (".address_size", |size| size == "64"),
        ];
        for (directive, holds) in rules {
            self.directive(directive)?;
            let token = self.take();
            match token.kind {
                Kind::Word(value) | Kind::Number(value) if holds(value) => {}
                _ => return Err(self.unsupported(&format!("{directive} {}", shown(token.kind)))),
            }
        }
        Ok(())
    }

    /// `.shared .align 16 .b8 name[];`.
    fn dynamic(&mut self) -> Result<Shared<'t>, ParseError> {
        self.directive(".shared")?;
        let (name, alignment, _) = self.variable()?;
        self.symbol('[')?;
        self.symbol(']')?;
        self.symbol(';')?;
        Ok(Shared { name, alignment, bytes: 0 })
    }

    /// `.align 16 .b8 name`; with the bytes of one element.
    fn variable(&mut self) -> Result<(&'t str, u64, usize), ParseError> {
        self.directive(".align")?;
        let alignment = u64::from(self.count()?);
        if !alignment.is_power_of_two() {
            return Err(self.unsupported(&format!(".align {alignment}")));
        }
        let kind = self.kind()?;
        let bytes = kind.width().ok_or_else(|| self.unsupported(".pred"))?.bytes();
        Ok((self.word("a name")?, alignment, bytes))
    }

    /// `.entry name(parameters) .maxntid 128, 1, 1 { body }`.
    fn entry(&mut self) -> Result<Entry<'t>, ParseError> {
        self.directive(".entry")?;
        let mut entry = Entry {
            line: self.peek().line,
            name: self.word("a name")?,
            parameters: Vec::new(),
            largest_block: None,
            registers: Vec::new(),
            shared: Vec::new(),
            statements: Vec::new(),
        };
        self.symbol('(')?;
        while !self.accept(')') {
            if !entry.parameters.is_empty() {
                self.symbol(',')?;
            }
            self.directive(".param")?;
            let kind = self.kind()?;
            entry.parameters.push((self.word("a name")?, kind));
        }
        while !self.accept('{') {
            self.directive(".maxntid")?;
            let mut size = [self.count()?, 1, 1];
            for axis in 1..3 {
                self.symbol(',')?;
                size[axis] = self.count()?;
            }
            entry.largest_block = Some(size);
        }
        while !self.accept('}') {
            self.line(&mut entry)?;
        }
        Ok(entry)
    }

    /// A declaration, a label or an instruction.
    fn line(&mut self, entry: &mut Entry<'t>) -> Result<(), ParseError> {
        let Token { kind, line } = self.peek();
        match kind {
            Kind::Word(".reg") => entry.registers.push(self.registers()?),
            Kind::Word(".shared") => entry.shared.push(self.shared()?),
            Kind::Word(".pragma") => self.pragma()?,
            Kind::Word(directive) if directive.starts_with('.') => {
                self.next += 1;
                return Err(self.unsupported(directive));
            }
            Kind::Word(name) if self.after().kind == Kind::Symbol(':') => {
                self.next += 2;
                entry.statements.push(Statement::Label { name, line });
            }
            _ => entry.statements.push(Statement::Instruction(self.instruction()?)),
        }
        Ok(())
    }

    /// `.reg .b32 %r<8>;`.
    fn registers(&mut self) -> Result<Registers<'t>, ParseError> {
        self.directive(".reg")?;
        let kind = self.kind()?;
        let prefix = self.word("a register")?;
        self.symbol('<')?;
        let count = self.count()?;
        self.symbol('>')?;
        self.symbol(';')?;
        Ok(Registers { prefix, kind, count })
    }

    /// `.shared .align 4 .b8 name[64];` or `.shared .align 4 .f32 name;`.
    fn shared(&mut self) -> Result<Shared<'t>, ParseError> {
        self.directive(".shared")?;
        let (name, alignment, element) = self.variable()?;
        let mut bytes = element;
        if self.accept('[') {
            bytes *= self.count()? as usize;
            self.symbol(']')?;
        }
        self.symbol(';')?;
        Ok(Shared { name, alignment, bytes })
    }

    /// How a loop is to be compiled: no matter here.
    fn pragma(&mut self) -> Result<(), ParseError> {
        self.directive(".pragma")?;
        let token = self.take();
        if token.kind != Kind::Text("nounroll") {
            return Err(self.unsupported(&format!(".pragma {}", shown(token.kind))));
        }
        self.symbol(';')
    }

    /// `@!%p1 opcode a, b;`.
    fn instruction(&mut self) -> Result<Written<'t>, ParseError> {
        let line = self.peek().line;
        let mut guard = None;
        if self.accept('@') {
            let negated = self.accept('!');
            guard = Some((self.word("a predicate")?, negated));
        }
        let opcode = self.word("an instruction")?;
        let mut operands = Vec::new();
        while !self.accept(';') {
            if !operands.is_empty() {
                self.symbol(',')?;
            }
            operands.push(self.operand()?);
        }
        Ok(Written { line, guard, opcode, operands })
    }

    fn operand(&mut self) -> Result<Operand<'t>, ParseError> {
        if self.accept('[') {
            let base = self.word("a register or a variable")?;
            let offset = if self.accept('+') { self.offset()? } else { 0 };
            self.symbol(']')?;
            return Ok(Operand::Address { base, offset });
        }
        if self.accept('{') {
            let mut names = vec![self.word("a register")?];
            while self.accept(',') {
                names.push(self.word("a register")?);
            }
            self.symbol('}')?;
            return Ok(Operand::Group(names));
        }
        if let Kind::Word(word) = self.peek().kind {
            self.next += 1;
            let paired = self.accept('|');
            return Ok(if paired {
                Operand::Pair(word, self.word("a predicate")?)
            } else {
                Operand::Word(word)
            });
        }
        self.number().map(Operand::Number)
    }

    fn offset(&mut self) -> Result<i64, ParseError> {
        let number = self.number()?;
        let offset = number.whole().and_then(|size| i64::try_from(size).ok());
        let offset = offset.ok_or_else(|| self.unsupported(number.digits))?;
        Ok(if number.negative { -offset } else { offset })
    }

    fn number(&mut self) -> Result<Number<'t>, ParseError> {
        let negative = self.accept('-');
        match self.take().kind {
            Kind::Number(digits) => Ok(Number { negative, digits }),
            other => Err(self.unexpected(other, "an operand")),
        }
    }

    fn count(&mut self) -> Result<u32, ParseError> {
        let number = self.number()?;
        let count = number.whole().filter(|&count| !number.negative && count <= LARGEST_COUNT);
        count.map(|count| count as u32).ok_or_else(|| self.unexpected(Kind::Number(number.digits), "a count"))
    }

    /// `.b32`.
    fn kind(&mut self) -> Result<Type, ParseError> {
        let word = self.word("a type")?;
        let kind = word.strip_prefix('.').and_then(Type::named);
        kind.ok_or_else(|| self.unsupported(word))
    }

    fn word(&mut self, wanted: &'static str) -> Result<&'t str, ParseError> {
        match self.take().kind {
            Kind::Word(word) => Ok(word),
            other => Err(self.unexpected(other, wanted)),
        }
    }

    fn directive(&mut self, wanted: &'static str) -> Result<(), ParseError> {
        match self.take().kind {
            Kind::Word(word) if word == wanted => Ok(()),
            // Another directive in its place is one outside of the subset.
            Kind::Word(word) if word.starts_with('.') => Err(self.unsupported(word)),
            other => Err(self.unexpected(other, wanted)),
        }
    }

    fn symbol(&mut self, wanted: char) -> Result<(), ParseError> {
        match self.take().kind {
            Kind::Symbol(symbol) if symbol == wanted => Ok(()),
            other => Err(self.unexpected(other, name_of(wanted))),
        }
    }

    fn accept(&mut self, symbol: char) -> bool {
        let accepted = self.peek().kind == Kind::Symbol(symbol);
        self.next += usize::from(accepted);
        accepted
    }

    fn peek(&self) -> Token<'t> {
        self.at(self.next)
    }

    fn after(&self) -> Token<'t> {
        self.at(self.next + 1)
    }

    fn take(&mut self) -> Token<'t> {
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

    fn unexpected(&self, found: Kind<'_>, wanted: &'static str) -> ParseError {
        ParseError { line: self.line_taken(), reason: Reason::Unexpected { found: shown(found), wanted } }
    }

    fn unsupported(&self, what: &str) -> ParseError {
        ParseError { line: self.line_taken(), reason: Reason::Directive(what.to_owned()) }
    }
}

/// A token as it is written.
fn shown(kind: Kind<'_>) -> String {
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
