//! scenarios

pub mod schema;
