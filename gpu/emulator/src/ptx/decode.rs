//! From syntax to instructions: names become places of a frame, and every type is checked.

mod memory;
mod names;

use std::collections::BTreeMap;

use super::error::{ParseError, Reason};
use super::frame::Frame;
use super::instruction::{Guard, Instruction, Operation};
use super::memory::Memory;
use super::operations::{Form, Meaning, form};
use super::shuffle::{Mode, Shuffle};
use super::syntax::{Entry, Number, Operand, Shared, Statement, Written};
use super::types::{Type, Width};
use names::Names;

const B32: Type = Type::Bits(Width::Four);
const B64: Type = Type::Bits(Width::Eight);
const U32: Type = Type::Integer(Width::Four);

/// A kernel that can be executed: every place that an instruction names is one of the frame, and it does not run beyond its
/// last instruction.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) instructions: Vec<Instruction>,
    pub(super) frame: Frame,
    /// A block's shared memory before a launch says how much there is of what is dynamic.
    pub(super) shared: Memory,
    /// Where dynamic variables begin.
    pub(super) dynamic: Vec<u64>,
}

/// Decodes a kernel of a module with these dynamic variables.
pub(super) fn decode(entry: &Entry<'_>, dynamic: &[Shared<'_>]) -> Result<Code, ParseError> {
    let names = Names::declared(entry, dynamic).map_err(|reason| ParseError { line: entry.line, reason })?;
    let mut decoder =
        Decoder { names, instructions: Vec::new(), labels: BTreeMap::new(), branches: Vec::new() };
    for statement in &entry.statements {
        let (line, done) = match statement {
            Statement::Label { name, line } => (*line, decoder.label(name)),
            Statement::Instruction(written) => (written.line, decoder.instruction(written)),
        };
        done.map_err(|reason| ParseError { line, reason })?;
    }
    decoder.finish(entry)
}

struct Decoder<'t> {
    names: Names<'t>,
    instructions: Vec<Instruction>,
    labels: BTreeMap<&'t str, usize>,
    /// Which instructions are branches, and the labels that they go to.
    branches: Vec<(usize, &'t str)>,
}

impl<'t> Decoder<'t> {
    fn label(&mut self, name: &'t str) -> Result<(), Reason> {
        match self.labels.insert(name, self.instructions.len()) {
            None => Ok(()),
            Some(_) => Err(Reason::Redeclared(name.to_owned())),
        }
    }

    fn instruction(&mut self, written: &Written<'t>) -> Result<(), Reason> {
        let guard = match written.guard {
            Some((name, negated)) => {
                let predicate = self.names.register(written.opcode, Type::Predicate, name)?;
                Some(Guard { predicate, wanted: !negated })
            }
            None => None,
        };
        for operation in self.operations(written)? {
            self.instructions.push(Instruction { guard, operation, line: written.line });
        }
        Ok(())
    }

    /// What an instruction does: one operation, or two where it has two results.
    fn operations(&mut self, written: &Written<'t>) -> Result<Vec<Operation>, Reason> {
        let opcode = written.opcode;
        let parts: Vec<&str> = opcode.split('.').collect();
        let names = &mut self.names;
        let operation = match (parts.as_slice(), written.operands.as_slice()) {
            (["ret"], []) => Operation::Return,
            // Where all lanes are said to take it together, a guard would have to be looked at.
            (["bra", "uni"], _) if written.guard.is_some() => return Err(Reason::Opcode(opcode.to_owned())),
            (["bra"] | ["bra", "uni"], &[Operand::Word(label)]) => {
                self.branches.push((self.instructions.len(), label));
                Operation::Branch { target: usize::MAX }
            }
            (["bar", "sync"], [Operand::Number(Number { negative: false, digits: "0" })]) => {
                Operation::Barrier
            }
            (["shfl", "sync", mode, "b32"], operands) => names.shuffle(opcode, mode, operands)?,
            (["ld", "param", kind], operands) => names.parameter(opcode, kind, operands)?,
            (["ld", rest @ ..], operands) => names.load(opcode, rest, operands)?,
            (["st", rest @ ..], operands) => names.store(opcode, rest, operands)?,
            (["atom", rest @ ..], operands) => names.atomic(opcode, rest, operands)?,
            (["mov", "b64"], [Operand::Group(halves), from]) => {
                return names.taken_apart(opcode, halves, from);
            }
            (["mov", "b64"], [to, Operand::Group(halves)]) => names.put_together(opcode, to, halves)?,
            (_, operands) => {
                let form = form(opcode).ok_or_else(|| Reason::Opcode(opcode.to_owned()))?;
                return names.computed(opcode, form, operands);
            }
        };
        Ok(vec![operation])
    }

    /// Finds the targets of branches; sees that execution stays within the text.
    fn finish(mut self, entry: &Entry<'t>) -> Result<Code, ParseError> {
        let count = self.instructions.len();
        for (at, label) in self.branches {
            let branch = &mut self.instructions[at];
            let target = self.labels.get(label).copied().filter(|&target| target < count);
            let reason =
                || Reason::Undeclared { what: "label before an instruction", name: label.to_owned() };
            let target = target.ok_or_else(|| ParseError { line: branch.line, reason: reason() })?;
            branch.operation = Operation::Branch { target };
        }
        let ends = self.instructions.last().is_some_and(|last| {
            last.guard.is_none() && matches!(last.operation, Operation::Return | Operation::Branch { .. })
        });
        if !ends {
            let reason = Reason::Endless(entry.name.to_owned());
            return Err(ParseError { line: entry.line, reason });
        }
        let Names { frame, shared, dynamic, .. } = self.names;
        Ok(Code { instructions: self.instructions, frame, shared, dynamic })
    }
}

impl<'t> Names<'t> {
    /// An instruction that only computes. What a predicate is that nobody wrote, nobody guesses: it is looked at first.
    fn computed(
        &mut self,
        opcode: &str,
        form: Form,
        operands: &[Operand<'t>],
    ) -> Result<Vec<Operation>, Reason> {
        let wanted = 1 + form.operands.len();
        let mismatch = || count(opcode, wanted, operands.len());
        let (to, rest) = operands.split_first().filter(|_| operands.len() == wanted).ok_or_else(mismatch)?;
        let to = self.result(opcode, form.result, to)?;
        let (mut places, mut operations) = (Vec::new(), Vec::new());
        for (&kind, operand) in form.operands.iter().zip(rest) {
            let place = self.operand(opcode, kind, operand)?;
            if kind == Type::Predicate {
                operations.push(Operation::Written { predicate: place });
            }
            places.push(place);
        }
        operations.push(match (form.meaning, places.as_slice()) {
            (Meaning::One(apply), &[a]) => Operation::One { apply, to, a },
            (Meaning::Two(apply), &[a, b]) => Operation::Two { apply, to, a, b },
            (Meaning::Quotient(apply), &[a, b]) => Operation::Quotient { apply, to, a, b },
            (Meaning::Three(apply), &[a, b, c]) => Operation::Three { apply, to, a, b, c },
            _ => return Err(mismatch()),
        });
        Ok(operations)
    }

    /// `mov.b64 {low, high}, from`.
    fn taken_apart(
        &mut self,
        opcode: &str,
        halves: &[&str],
        from: &Operand<'t>,
    ) -> Result<Vec<Operation>, Reason> {
        let &[low, high] = halves else { return Err(count(opcode, 2, halves.len())) };
        let a = self.operand(opcode, B64, from)?;
        let [low, high] = [self.register(opcode, B32, low)?, self.register(opcode, B32, high)?];
        Ok(vec![
            Operation::One { apply: |a| a & 0xffff_ffff, to: low, a },
            Operation::One { apply: |a| a >> 32, to: high, a },
        ])
    }

    /// `mov.b64 to, {low, high}`.
    fn put_together(&mut self, opcode: &str, to: &Operand<'t>, halves: &[&str]) -> Result<Operation, Reason> {
        let &[low, high] = halves else { return Err(count(opcode, 2, halves.len())) };
        let to = self.result(opcode, B64, to)?;
        let [a, b] = [self.register(opcode, B32, low)?, self.register(opcode, B32, high)?];
        Ok(Operation::Two { apply: |low, high| high << 32 | (low & 0xffff_ffff), to, a, b })
    }

    /// `shfl.sync.MODE.b32 to|in_range, value, by, bounds, members`.
    fn shuffle(&mut self, opcode: &str, mode: &str, operands: &[Operand<'t>]) -> Result<Operation, Reason> {
        let mode = match mode {
            "down" => Mode::Down,
            "idx" => Mode::Index,
            _ => return Err(Reason::Opcode(opcode.to_owned())),
        };
        let [to, value, by, bounds, members] = operands else {
            return Err(count(opcode, 5, operands.len()));
        };
        let (to, in_range) = match *to {
            Operand::Pair(to, name) => (to, Some(self.register(opcode, Type::Predicate, name)?)),
            Operand::Word(to) => (to, None),
            _ => return Err(names::refused(opcode, to)),
        };
        Ok(Operation::Shuffle(Shuffle {
            mode,
            to: self.register(opcode, B32, to)?,
            in_range,
            value: self.operand(opcode, B32, value)?,
            by: self.operand(opcode, U32, by)?,
            bounds: self.operand(opcode, U32, bounds)?,
            members: self.operand(opcode, U32, members)?,
        }))
    }
}

/// Another number of operands than an instruction takes.
fn count(opcode: &str, wanted: usize, found: usize) -> Reason {
    Reason::Operands { opcode: opcode.to_owned(), wanted, found }
}
