//! What the names of a kernel stand for.

use std::collections::BTreeMap;

use super::super::error::Reason;
use super::super::frame::{Frame, Slot, Special};
use super::super::memory::Memory;
use super::super::shuffle::LANES;
use super::super::syntax::{Entry, Operand, Shared};
use super::super::types::{Type, Width};

const U32: Type = Type::Integer(Width::Four);
const U64: Type = Type::Integer(Width::Eight);

/// The names of a kernel, and the frame and the shared memory that hold what they name.
pub(super) struct Names<'t> {
    pub(super) frame: Frame,
    pub(super) shared: Memory,
    /// Where dynamic variables begin.
    pub(super) dynamic: Vec<u64>,
    registers: BTreeMap<String, (Slot, Type)>,
    parameters: BTreeMap<&'t str, (Slot, Type)>,
    /// Places that hold the variables' addresses.
    variables: BTreeMap<&'t str, Slot>,
    constants: BTreeMap<u64, Slot>,
}

impl<'t> Names<'t> {
    /// Those of a kernel in a module with these dynamic variables.
    pub(super) fn declared(entry: &Entry<'t>, dynamic: &[Shared<'t>]) -> Result<Self, Reason> {
        let mut names = Self {
            frame: Frame::default(),
            shared: Memory::shared(),
            dynamic: Vec::new(),
            registers: BTreeMap::new(),
            parameters: BTreeMap::new(),
            variables: BTreeMap::new(),
            constants: BTreeMap::new(),
        };
        for &(name, kind) in &entry.parameters {
            let slot = names.frame.parameter(kind);
            new(names.parameters.insert(name, (slot, kind)).is_none(), name)?;
        }
        for registers in &entry.registers {
            for number in 0..registers.count {
                let (name, slot) = (format!("{}{number}", registers.prefix), names.frame.register());
                let fresh = names.registers.insert(name, (slot, registers.kind)).is_none();
                new(fresh, registers.prefix)?;
            }
        }
        for variable in dynamic {
            let address = names.variable(variable)?;
            names.dynamic.push(address);
        }
        for variable in &entry.shared {
            names.variable(variable)?;
        }
        Ok(names)
    }

    fn variable(&mut self, variable: &Shared<'t>) -> Result<u64, Reason> {
        let address = self.shared.place(variable.bytes, variable.alignment);
        let slot = self.constant(address);
        new(self.variables.insert(variable.name, slot).is_none(), variable.name)?;
        Ok(address)
    }

    /// A register that fits a type.
    pub(super) fn register(&self, opcode: &str, kind: Type, name: &str) -> Result<Slot, Reason> {
        self.fitting(opcode, |declared| kind.takes(declared), name)
    }

    /// A register that a load or store of a type may move.
    pub(super) fn moved(&self, opcode: &str, kind: Type, name: &str) -> Result<Slot, Reason> {
        self.fitting(opcode, |declared| kind.moves(declared), name)
    }

    fn fitting(&self, opcode: &str, fits: impl Fn(Type) -> bool, name: &str) -> Result<Slot, Reason> {
        match self.registers.get(name) {
            Some(&(slot, declared)) if fits(declared) => Ok(slot),
            Some(_) => Err(refused(opcode, &Operand::Word(name))),
            None => Err(Reason::Undeclared { what: "register", name: name.to_owned() }),
        }
    }

    /// Where a result goes.
    pub(super) fn result(&self, opcode: &str, kind: Type, operand: &Operand<'t>) -> Result<Slot, Reason> {
        match *operand {
            Operand::Word(name) => self.register(opcode, kind, name),
            _ => Err(refused(opcode, operand)),
        }
    }

    /// Where an operand is: a register, a number, a special register or a variable's address.
    pub(super) fn operand(
        &mut self,
        opcode: &str,
        kind: Type,
        operand: &Operand<'t>,
    ) -> Result<Slot, Reason> {
        match *operand {
            Operand::Number(number) => match number.bits(kind) {
                Some(bits) => Ok(self.constant(bits)),
                None => Err(refused(opcode, operand)),
            },
            Operand::Word("WARP_SZ") if kind == U32 => Ok(self.constant(LANES as u64)),
            Operand::Word(name) => match (Special::named(name), self.variables.get(name)) {
                (Some(special), _) if kind == U32 => Ok(self.frame.special(special)),
                (None, Some(&address)) if kind == U64 => Ok(address),
                (None, None) => self.register(opcode, kind, name),
                _ => Err(refused(opcode, operand)),
            },
            _ => Err(refused(opcode, operand)),
        }
    }

    /// The place of a parameter of a type.
    pub(super) fn passed(&self, opcode: &str, kind: Type, name: &str) -> Result<Slot, Reason> {
        match self.parameters.get(name) {
            Some(&(slot, declared)) if kind == declared => Ok(slot),
            Some(_) => Err(refused(opcode, &Operand::Word(name))),
            None => Err(Reason::Undeclared { what: "parameter", name: name.to_owned() }),
        }
    }

    /// The place of a variable's address.
    pub(super) fn address(&self, name: &str) -> Option<Slot> {
        self.variables.get(name).copied()
    }

    fn constant(&mut self, bits: u64) -> Slot {
        *self.constants.entry(bits).or_insert_with(|| self.frame.constant(bits))
    }
}

fn new(fresh: bool, name: &str) -> Result<(), Reason> {
    if fresh { Ok(()) } else { Err(Reason::Redeclared(name.to_owned())) }
}

/// An operand that an instruction does not take.
pub(super) fn refused(opcode: &str, operand: &Operand<'_>) -> Reason {
    let operand = match operand {
        Operand::Word(name) => format!("`{name}`"),
        Operand::Number(number) => format!("`{}{}`", if number.negative { "-" } else { "" }, number.digits),
        Operand::Address { base, offset } => format!("`[{base}+{offset}]`"),
        Operand::Group(names) => format!("`{{{}}}`", names.join(", ")),
        Operand::Pair(first, second) => format!("`{first}|{second}`"),
    };
    Reason::Operand { opcode: opcode.to_owned(), operand }
}
