//! Running a system over the world, with everything that can go wrong made a value.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy_ecs::system::RunSystemError;

use super::{DecideError, Decision, Proposal, Systems};
use crate::blob::BlobReader;
use crate::effect::EffectStore;
use crate::world::World;

/// Why there is no decision.
#[derive(Debug, thiserror::Error)]
pub enum Undecided {
    /// The machine failed; the step may be tried again.
    #[error("system {system}: {error}")]
    Failed {
        /// The system.
        system: &'static str,
        /// What it said.
        #[source]
        error: DecideError,
    },
    /// A system panicked: a fault of the program. Nothing may be decided after it.
    #[error("system {system} panicked: {message}")]
    Panicked {
        /// The system.
        system: &'static str,
        /// The panic's message.
        message: String,
    },
    /// `next` panicked.
    #[error("picking the next system panicked: {message}")]
    NextPanicked {
        /// The panic's message.
        message: String,
    },
    /// A capability that the system reads was not provided.
    #[error("system {system} could not run: {reason}")]
    Refused {
        /// The system.
        system: &'static str,
        /// What bevy says.
        reason: String,
    },
    /// `next` names a system that is not in the table.
    #[error("no system is named {system}")]
    Unknown {
        /// The name.
        system: &'static str,
    },
    /// The system has deferred parameters (`Commands`), whose effect would be lost.
    #[error("system {system} defers changes to the world: systems only return events")]
    Deferred {
        /// The system.
        system: &'static str,
    },
    /// The decision has no events: the same system would decide the same for ever.
    #[error("system {system} decided nothing")]
    Empty {
        /// The system.
        system: &'static str,
    },
}

impl Undecided {
    /// Whether the program itself is at fault, so that no later decision of this process can be trusted.
    pub fn poisons(&self) -> bool {
        !matches!(self, Self::Failed { .. })
    }
}

/// Puts the capabilities into `world`.
pub(crate) fn install(world: &mut World, systems: &Systems, blobs: BlobReader, effects: EffectStore) {
    let ecs = world.ecs_mut();
    ecs.insert_resource(blobs);
    ecs.insert_resource(effects);
    ecs.insert_resource(Proposal::default());
    systems.install(ecs);
}

/// Says what the next decision may turn out to be.
pub(crate) fn propose(world: &mut World, proposal: Proposal) {
    world.ecs_mut().insert_resource(proposal);
}

/// Picks the next system and lets it decide; `None` when the run is over.
pub(crate) fn decide(
    world: &mut World,
    systems: &Systems,
) -> Result<Option<(&'static str, Decision)>, Undecided> {
    let picked = catch_unwind(AssertUnwindSafe(|| systems.next(&world.view())));
    let picked = picked.map_err(|panic| Undecided::NextPanicked { message: message(panic.as_ref()) })?;
    let Some(name) = picked else { return Ok(None) };
    let decision = run(world, systems, name)?;
    if decision.events.is_empty() {
        return Err(Undecided::Empty { system: name });
    }
    Ok(Some((name, decision)))
}

fn run(world: &mut World, systems: &Systems, name: &'static str) -> Result<Decision, Undecided> {
    let mut system = systems.build(name).ok_or(Undecided::Unknown { system: name })?;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        system.initialize(world.ecs_mut());
        if system.has_deferred() { None } else { Some(system.run_readonly((), world.ecs())) }
    }));
    match outcome {
        Err(panic) => Err(Undecided::Panicked { system: name, message: message(panic.as_ref()) }),
        Ok(None) => Err(Undecided::Deferred { system: name }),
        Ok(Some(Err(RunSystemError::Skipped(reason)))) => {
            Err(Undecided::Refused { system: name, reason: reason.to_string() })
        }
        Ok(Some(Err(RunSystemError::Failed(reason)))) => {
            Err(Undecided::Refused { system: name, reason: reason.to_string() })
        }
        Ok(Some(Ok(result))) => result.map_err(|error| Undecided::Failed { system: name, error }),
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
