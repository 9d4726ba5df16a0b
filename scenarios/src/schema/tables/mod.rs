//! The tables of a scenario, one a file.

mod curriculum;
mod episode;
mod evaluation;
mod exec;
mod learning;
mod policy;
mod world;

pub use curriculum::{Curriculum, Generator, GeneratorKind};
pub use episode::{Codec, Harness, HarnessKind, Sandbox, SandboxKind, Style};
pub use evaluation::{Evaluation, HeldOutSet, When};
pub use exec::{Device, Exec, Isa, Keep, Log, ProgressKind};
pub use learning::{Deviation, Divergence, Length as LengthPenalty, Reward, Rollout, Update};
pub use policy::{Policy, PolicySource, Shape};
