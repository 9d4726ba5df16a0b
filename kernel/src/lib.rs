//! The event-sourced kernel of Tadpole: events, log, blobs, the ECS world, replay and verification.
//!
//! A *system* reads the world and returns a [`decide::Decision`]: events and the blobs they name. The
//! [`driver::Kernel`] appends the events to the log as one commit group and applies them to the
//! [`world::World`]; [`replay::Replay`] folds the same `apply` over the log, and [`verify::verify`] re-executes every
//! decision and compares it with what the log says.
//!
//! *Architecture invariant*: no async, no network, no numerics, no clock. The kernel knows nothing of policies,
//! tasks' meaning or the command line. Nothing but `apply` changes a component, and nothing but an event makes it do so.

pub mod blob;
mod canonical;
pub mod decide;
pub mod diff;
pub mod draws;
pub mod driver;
pub mod effect;
pub mod event;
pub mod forge;
pub mod fork;
pub mod id;
pub mod keyframe;
pub mod log;
pub mod replay;
pub mod run;
pub mod storage;
pub mod upkeep;
pub mod verify;
pub mod world;
