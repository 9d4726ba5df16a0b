//! Instructions that read or write memory.

use super::super::error::Reason;
use super::super::instruction::{Operation, Place, Registers, Space};
use super::super::operations;
use super::super::syntax::Operand;
use super::super::types::{Type, Width};
use super::names::{Names, refused};
use super::{B64, count};

impl<'t> Names<'t> {
    /// `ld.param.TYPE to, [parameter]`.
    pub(super) fn parameter(
        &self,
        opcode: &str,
        kind: &str,
        operands: &[Operand<'t>],
    ) -> Result<Operation, Reason> {
        let [to, from] = operands else { return Err(count(opcode, 2, operands.len())) };
        let kind = Type::named(kind).ok_or_else(|| Reason::Opcode(opcode.to_owned()))?;
        let to = self.result(opcode, kind, to)?;
        match *from {
            Operand::Address { base, offset: 0 } => {
                Ok(Operation::Copy { to, from: self.passed(opcode, kind, base)? })
            }
            _ => Err(refused(opcode, from)),
        }
    }

    /// `ld.SPACE.TYPE to, [place]`.
    pub(super) fn load(
        &self,
        opcode: &str,
        modifiers: &[&str],
        operands: &[Operand<'t>],
    ) -> Result<Operation, Reason> {
        let moved = Moved::named(opcode, modifiers)?;
        let [to, from] = operands else { return Err(count(opcode, 2, operands.len())) };
        let from = self.place(opcode, moved.space, from)?;
        let to = match to {
            Operand::Word(name) if !moved.four => Registers::One(self.moved(opcode, moved.kind, name)?),
            Operand::Group(names) if moved.four => self.four(opcode, moved.kind, names)?,
            _ => return Err(refused(opcode, to)),
        };
        Ok(Operation::Load { from, width: moved.width, to })
    }

    /// `st.SPACE.TYPE [place], from`.
    pub(super) fn store(
        &mut self,
        opcode: &str,
        modifiers: &[&str],
        operands: &[Operand<'t>],
    ) -> Result<Operation, Reason> {
        let moved = Moved::named(opcode, modifiers)?;
        let [to, from] = operands else { return Err(count(opcode, 2, operands.len())) };
        let to = self.place(opcode, moved.space, to)?;
        let from = match from {
            Operand::Word(name) if !moved.four => Registers::One(self.moved(opcode, moved.kind, name)?),
            Operand::Number(_) if !moved.four => Registers::One(self.operand(opcode, moved.kind, from)?),
            Operand::Group(names) if moved.four => self.four(opcode, moved.kind, names)?,
            _ => return Err(refused(opcode, from)),
        };
        Ok(Operation::Store { to, width: moved.width, from })
    }

    /// `atom.SPACE.OPERATION.TYPE to, [place], operand`.
    pub(super) fn atomic(
        &mut self,
        opcode: &str,
        modifiers: &[&str],
        operands: &[Operand<'t>],
    ) -> Result<Operation, Reason> {
        let unknown = || Reason::Opcode(opcode.to_owned());
        let &[space, operation, kind] = modifiers else { return Err(unknown()) };
        let space = Space::named(space).ok_or_else(unknown)?;
        let apply = operations::atomic(operation, kind).ok_or_else(unknown)?;
        let kind = Type::named(kind).ok_or_else(unknown)?;
        let width = kind.width().ok_or_else(unknown)?;
        let [to, place, operand] = operands else { return Err(count(opcode, 3, operands.len())) };
        let to = self.result(opcode, kind, to)?;
        let place = self.place(opcode, space, place)?;
        let operand = self.operand(opcode, kind, operand)?;
        Ok(Operation::Atomic { apply, place, width, to, operand })
    }

    fn place(&self, opcode: &str, space: Space, operand: &Operand<'t>) -> Result<Place, Reason> {
        let Operand::Address { base, offset } = *operand else { return Err(refused(opcode, operand)) };
        let address = match self.address(base) {
            Some(variable) if space == Space::Shared => variable,
            Some(_) => return Err(refused(opcode, operand)),
            None => self.register(opcode, B64, base)?,
        };
        Ok(Place { space, address, offset })
    }

    fn four(&self, opcode: &str, kind: Type, names: &[&str]) -> Result<Registers, Reason> {
        let &[a, b, c, d] = names else { return Err(count(opcode, 4, names.len())) };
        let register = |name| self.register(opcode, kind, name);
        Ok(Registers::Four([register(a)?, register(b)?, register(c)?, register(d)?]))
    }
}

/// What a load or a store moves.
struct Moved {
    space: Space,
    kind: Type,
    width: Width,
    /// Whether it is four numbers that lie side by side.
    four: bool,
}

impl Moved {
    fn named(opcode: &str, modifiers: &[&str]) -> Result<Self, Reason> {
        let unknown = || Reason::Opcode(opcode.to_owned());
        let (space, kind, four) = match *modifiers {
            [space, kind] => (space, kind, false),
            [space, "v4", kind] => (space, kind, true),
            _ => return Err(unknown()),
        };
        let space = Space::named(space).ok_or_else(unknown)?;
        // A narrow signed number would have to be widened with its sign.
        let kind = Some(kind).filter(|kind| !["s8", "s16", "s32"].contains(kind)).and_then(Type::named);
        let kind = kind.ok_or_else(unknown)?;
        let width = kind.width().ok_or_else(unknown)?;
        if four && width != Width::Four {
            return Err(unknown());
        }
        Ok(Self { space, kind, width, four })
    }
}

impl Space {
    fn named(name: &str) -> Option<Self> {
        match name {
            "global" => Some(Self::Global),
            "shared" => Some(Self::Shared),
            _ => None,
        }
    }
}
