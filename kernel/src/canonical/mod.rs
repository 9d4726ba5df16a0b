//! Canonical bytes of any value that serde can walk: what world digests are taken over, and what keyframes hold.
//!
//! Little-endian, fields in declaration order, lengths as `u64`, variants by index as `u32`, `Option` as a byte, floats
//! by their bits. Two values of one type have equal bytes exactly when they are equal. The bytes do not say what they
//! are: only who knows the type can read them back.

mod read;
mod write;

pub(crate) use read::{Malformed, Reader};
pub(crate) use write::{Finite, write};
