//! Shadow curricula: every recorded calibration decided again under another rule, with no rollout.
//!
//! A rule decides from what was recorded of a candidate alone, and which looks a candidate gets does not depend on the rule. So
//! for each iteration a shadow walks through the recorded raw draws with the code that curricula run on (waves, room in the
//! batch, budget, refinement, filling) and asks the other rule instead. What the log can answer, and what it cannot:
//!
//! - A raw draw and its looks are the same under any rule: the draw is a function of seed and index, a look of policy, task
//!   and visit. Where the rule stops before a recorded draw, that draw was not needed; where it would draw more than were
//!   recorded, the shadow ends there, and the tasks it still lacks are [`ShadowIteration::missing`].
//! - A refinement that the rule asks for is followed where the recorded run made the same one. One that was tried and could
//!   not be made stays impossible. Any other has no recorded successor: the candidate is *unknown beyond this look*. It is
//!   taken to spend one candidate of the budget and to yield no task; [`ShadowIteration::certain`] is `false` from there on.
//! - A candidate that fell out after its pilot (none or all passed) has no further look under any rule, and no rule admits it.
//! - Rejections by validation stand as recorded.
//! - Every iteration is shadowed on the policy that was recorded for it. Other tasks would have trained another policy, so
//!   iterations do not add up to the run that would have been; that takes a fork.

mod record;
mod tally;
mod walk;

pub use record::{Calibrations, IterationCalibrations};
pub use tally::ShadowIteration;
pub use walk::{Ending, Fate, Shadow};

#[cfg(test)]
mod tests;
