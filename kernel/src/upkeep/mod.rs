//! Care for a run directory without deciding anything: is it whole, what can be saved of it, what can be thrown away.
//!
//! Everything here follows from the log: folding it names the blobs and answers that must be there. Nothing is executed.

mod check;
mod claims;
mod gc;
mod problem;
mod salvage;
mod walk;

pub use check::{CheckReport, Stored, check, check_on};
pub use gc::{Collected, Collection, GcError, gc};
pub use problem::Problem;
pub use salvage::{SalvageError, Salvaged, salvage, salvage_on};
