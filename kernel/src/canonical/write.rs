//! Values to canonical bytes.

use std::fmt;

use serde::{Serialize, ser};

/// Appends the canonical bytes of `value` to `out`; tells whether every float in it is finite.
pub(crate) fn write<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<Finite, Unsupported> {
    let mut writer = Writer { out, finite: true };
    value.serialize(&mut writer)?;
    Ok(if writer.finite { Finite::Yes } else { Finite::No })
}

/// Whether a value holds finite floats only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finite {
    Yes,
    No,
}

/// A value that has no canonical bytes, e.g. a sequence of unknown length.
#[derive(Debug, thiserror::Error)]
#[error("no canonical form: {0}")]
pub(crate) struct Unsupported(String);

impl ser::Error for Unsupported {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    finite: bool,
}

impl Writer<'_> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn length(&mut self, length: usize) {
        self.bytes(&(length as u64).to_le_bytes());
    }
}

macro_rules! little_endian {
    ($($method:ident($type:ty)),*) => {$(
        fn $method(self, value: $type) -> Result<(), Unsupported> {
            self.bytes(&value.to_le_bytes());
            Ok(())
        }
    )*};
}

impl ser::Serializer for &mut Writer<'_> {
    type Ok = ();
    type Error = Unsupported;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    little_endian!(
        serialize_i8(i8),
        serialize_i16(i16),
        serialize_i32(i32),
        serialize_i64(i64),
        serialize_u8(u8),
        serialize_u16(u16),
        serialize_u32(u32),
        serialize_u64(u64)
    );

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, value: bool) -> Result<(), Unsupported> {
        self.serialize_u8(u8::from(value))
    }

    fn serialize_f32(self, value: f32) -> Result<(), Unsupported> {
        self.finite &= value.is_finite();
        self.serialize_u32(value.to_bits())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Unsupported> {
        self.finite &= value.is_finite();
        self.serialize_u64(value.to_bits())
    }

    fn serialize_char(self, value: char) -> Result<(), Unsupported> {
        self.serialize_u32(u32::from(value))
    }

    fn serialize_str(self, value: &str) -> Result<(), Unsupported> {
        self.serialize_bytes(value.as_bytes())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Unsupported> {
        self.length(value.len());
        self.bytes(value);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Unsupported> {
        self.serialize_u8(0)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Unsupported> {
        self.bytes(&[1]);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Unsupported> {
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Unsupported> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, index: u32, _: &'static str) -> Result<(), Unsupported> {
        self.serialize_u32(index)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Unsupported> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Unsupported> {
        self.bytes(&index.to_le_bytes());
        value.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self, Unsupported> {
        let length = length.ok_or_else(|| Unsupported("a sequence of unknown length".to_owned()))?;
        self.length(length);
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Unsupported> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Unsupported> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Unsupported> {
        self.bytes(&index.to_le_bytes());
        Ok(self)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self, Unsupported> {
        self.serialize_seq(length)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Unsupported> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Unsupported> {
        self.bytes(&index.to_le_bytes());
        Ok(self)
    }
}

macro_rules! elements {
    ($($trait:ident::$method:ident),*) => {$(
        impl ser::$trait for &mut Writer<'_> {
            type Ok = ();
            type Error = Unsupported;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unsupported> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Unsupported> {
                Ok(())
            }
        }
    )*};
}

elements!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! fields {
    ($($trait:ident),*) => {$(
        impl ser::$trait for &mut Writer<'_> {
            type Ok = ();
            type Error = Unsupported;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Result<(), Unsupported> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Unsupported> {
                Ok(())
            }
        }
    )*};
}

fields!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for &mut Writer<'_> {
    type Ok = ();
    type Error = Unsupported;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Unsupported> {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unsupported> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Unsupported> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::collections::BTreeMap;

    use super::*;

    fn check(value: &impl Serialize, expected: &[u8], finite: Finite) {
        let mut out = Vec::new();
        assert_eq!(write(value, &mut out).unwrap(), finite);
        assert_eq!(out, expected);
    }

    #[test]
    fn values_have_their_documented_bytes() {
        check(&(1_u8, 2_u16), &[1, 2, 0], Finite::Yes);
        check(&"ab", &[2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b'], Finite::Yes);
        check(&Some(true), &[1, 1], Finite::Yes);
        check(&None::<u8>, &[0], Finite::Yes);
        check(&BTreeMap::from([(1_u8, -0.0_f32)]), &[1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x80], Finite::Yes);
        check(&f32::NAN, &f32::NAN.to_bits().to_le_bytes(), Finite::No);
    }
}
