//! From tokens to syntax.

mod cursor;

use super::error::ParseError;
use super::lexer::{Kind, Token};
use super::syntax::{Entry, Operand, Registers, Shared, Statement, Syntax, Written};
use cursor::{Cursor, shown};

/// Whether a value of the header is one that is replayed.
type Rule = fn(&str) -> bool;

/// Reads a module.
pub(super) fn parse(text: &str) -> Result<Syntax<'_>, ParseError> {
    let mut cursor = Cursor::new(text)?;
    cursor.header()?;
    let mut syntax = Syntax { dynamic: Vec::new(), entries: Vec::new() };
    while cursor.peek().kind != Kind::End {
        match cursor.word("a directive")? {
            ".extern" => syntax.dynamic.push(cursor.dynamic()?),
            ".visible" => syntax.entries.push(cursor.entry()?),
            other => return Err(cursor.unsupported(other)),
        }
    }
    Ok(syntax)
}

impl<'t> Cursor<'t> {
    /// `.version 9.0 .target sm_80 .address_size 64`.
    fn header(&mut self) -> Result<(), ParseError> {
        let rules: [(&str, Rule); 3] = [
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
            for side in &mut size[1..] {
                self.symbol(',')?;
                *side = self.count()?;
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
                self.skip();
                return Err(self.unsupported(directive));
            }
            Kind::Word(name) if self.after().kind == Kind::Symbol(':') => {
                self.skip();
                self.skip();
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
            self.skip();
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
}
