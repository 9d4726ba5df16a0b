//! What a module is made of, as it is written.

use super::types::Type;

/// A module.
#[derive(Clone, Debug)]
pub(super) struct Syntax<'t> {
    /// Shared memory whose size a launch says.
    pub(super) dynamic: Vec<Shared<'t>>,
    pub(super) entries: Vec<Entry<'t>>,
}

/// A kernel.
#[derive(Clone, Debug)]
pub(super) struct Entry<'t> {
    pub(super) line: usize,
    pub(super) name: &'t str,
    pub(super) parameters: Vec<(&'t str, Type)>,
    /// The largest block along x, y, z that it may be launched with.
    pub(super) largest_block: Option<[u32; 3]>,
    pub(super) registers: Vec<Registers<'t>>,
    pub(super) shared: Vec<Shared<'t>>,
    pub(super) statements: Vec<Statement<'t>>,
}

/// `.reg .b32 %r<8>;`: the registers `%r0` to `%r7`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers<'t> {
    pub(super) prefix: &'t str,
    pub(super) kind: Type,
    pub(super) count: u32,
}

/// A variable in shared memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared<'t> {
    pub(super) name: &'t str,
    /// A power of two.
    pub(super) alignment: u64,
    pub(super) bytes: usize,
}

/// A line of a kernel.
#[derive(Clone, Debug)]
pub(super) enum Statement<'t> {
    Label { name: &'t str, line: usize },
    Instruction(Written<'t>),
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Written<'t> {
    pub(super) line: usize,
    /// The predicate and whether it is negated.
    pub(super) guard: Option<(&'t str, bool)>,
    pub(super) opcode: &'t str,
    pub(super) operands: Vec<Operand<'t>>,
}

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operand<'t> {
    /// A register, a label or a variable.
    Word(&'t str),
    /// A number.
    Number(Number<'t>),
    /// `[base+offset]`.
    Address { base: &'t str, offset: i64 },
    /// `{a, b}`.
    Group(Vec<&'t str>),
    /// `a|b`.
    Pair(&'t str, &'t str),
}

/// A number: digits as they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number<'t> {
    pub(super) negative: bool,
    pub(super) digits: &'t str,
}

impl Number<'_> {
    /// Its bits as a value of a type; `None` where it is none.
    pub(super) fn bits(self, kind: Type) -> Option<u64> {
        let width = kind.width()?;
        let exact = |prefix, digits| {
            let hex = self.digits.strip_prefix(prefix).filter(|hex| hex.len() == digits && !self.negative);
            hex.and_then(|hex| u64::from_str_radix(hex, 16).ok())
        };
        if let Type::Float(_) = kind {
            let (prefix, digits) = if width.bytes() == 4 { ("0f", 8) } else { ("0d", 16) };
            return exact(prefix, digits);
        }
        let size = self.whole()?;
        let most = u64::MAX >> (64 - 8 * width.bytes());
        let within = if self.negative { size <= most / 2 + 1 } else { size <= most };
        let value = if self.negative { size.wrapping_neg() } else { size };
        within.then_some(value & most)
    }

    /// Its size as a whole number.
    pub(super) fn whole(self) -> Option<u64> {
        match self.digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            // A zero in front would make it an octal number.
            None if self.digits.len() > 1 && self.digits.starts_with('0') => None,
            None => self.digits.parse().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(digits: &str, negative: bool, kind: &str) -> Option<u64> {
        Number { negative, digits }.bits(Type::named(kind).unwrap())
    }

    #[test]
    fn a_number_is_read_as_the_type_that_wants_it_or_not_at_all() {
        assert_eq!(bits("0f3F800000", false, "f32"), Some(0x3f80_0000));
        assert_eq!(bits("0d3FF0000000000000", false, "f64"), Some(0x3ff0_0000_0000_0000));
        assert_eq!(bits("1025", true, "u32"), Some(0xffff_fbff));
        assert_eq!(bits("4294967295", false, "s32"), Some(0xffff_ffff));
        assert_eq!(bits("0x10", false, "b64"), Some(16));
        let none = [
            ("1", false, "f32"),
            ("0f3F8", false, "f32"),
            ("0d3FF0000000000000", false, "f32"),
            ("0f3F800000", false, "u32"),
            ("4294967296", false, "u32"),
            ("32769", true, "s16"),
            ("017", false, "u32"),
            ("1", false, "pred"),
        ];
        for (digits, negative, kind) in none {
            assert_eq!(bits(digits, negative, kind), None, "{digits} as {kind}");
        }
    }
}
