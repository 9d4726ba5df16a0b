//! The learner: groups, advantages, and one DPPO step after another.

mod apply;
mod group;
mod inspect;
mod learner;
mod next;
pub mod plan;
mod publish;
mod roll_out;

pub use apply::update;
pub use inspect::{Extent, InspectedGroup, InspectedMember, InspectedToken, current_weights, inspect};
pub use learner::Learner;
pub use publish::publish;
pub use roll_out::roll_out;
