//! Widths and classes of what registers hold and operands want.

/// Bytes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Width {
    One = 1,
    Two = 2,
    Four = 4,
    Eight = 8,
}

impl Width {
    pub(super) fn bytes(self) -> usize {
        self as usize
    }
}

/// What a register was declared to hold, or what an instruction takes an operand for.
///
/// Signed and unsigned integers are one class: registers do not tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// True or false.
    Predicate,
    /// Bits of any meaning, `.b32`.
    Bits(Width),
    /// A whole number, `.u32` or `.s32`.
    Integer(Width),
    /// A number with a point, `.f32`.
    Float(Width),
}

impl Type {
    /// The type of a name without its point: `b32`.
    pub(super) fn named(name: &str) -> Option<Self> {
        if name == "pred" {
            return Some(Self::Predicate);
        }
        let (class, bits) = name.split_at_checked(1)?;
        let width = match bits {
            "8" => Width::One,
            "16" => Width::Two,
            "32" => Width::Four,
            "64" => Width::Eight,
            _ => return None,
        };
        match (class, width) {
            ("b", _) => Some(Self::Bits(width)),
            ("u" | "s", _) => Some(Self::Integer(width)),
            ("f", Width::Four | Width::Eight) => Some(Self::Float(width)),
            _ => None,
        }
    }

    /// Bytes of a value; a predicate has none.
    pub(super) fn width(self) -> Option<Width> {
        match self {
            Self::Predicate => None,
            Self::Bits(width) | Self::Integer(width) | Self::Float(width) => Some(width),
        }
    }

    /// Whether an operand of this type may be a register that was declared as `declared`: of the same width, and of the
    /// same class unless one of both is untyped.
    pub(super) fn takes(self, declared: Self) -> bool {
        match (self, declared) {
            (Self::Bits(width), other) | (other, Self::Bits(width)) => other.width() == Some(width),
            _ => self == declared,
        }
    }

    /// Whether a load or store of this type may move a register that was declared as `declared`: a register of whole
    /// numbers may be wider than memory is.
    pub(super) fn moves(self, declared: Self) -> bool {
        let narrower = match (self, declared) {
            (Self::Bits(memory) | Self::Integer(memory), Self::Bits(register) | Self::Integer(register)) => {
                memory < register
            }
            _ => false,
        };
        narrower || self.takes(declared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untyped_bits_fit_every_class_of_their_width_and_classes_do_not_mix() {
        let named = |name| Type::named(name).unwrap();
        assert!(named("b32").takes(named("f32")) && named("s32").takes(named("b32")));
        assert!(named("s32").takes(named("u32")));
        assert!(!named("f32").takes(named("u32")) && !named("b32").takes(named("b64")));
        assert!(!named("pred").takes(named("b8")) && !named("b8").takes(named("pred")));
    }

    #[test]
    fn memory_may_be_narrower_than_a_register_of_whole_numbers_only() {
        let named = |name| Type::named(name).unwrap();
        assert!(named("u8").moves(named("b16")) && named("u16").moves(named("b32")));
        assert!(!named("u64").moves(named("b32")) && !named("f32").moves(named("f64")));
        assert!(!named("f32").moves(named("b64")));
    }

    #[test]
    fn a_type_that_is_not_replayed_has_no_name() {
        for name in ["f16", "b128", "s", "", "x32"] {
            assert_eq!(Type::named(name), None, "{name}");
        }
    }
}
