//! What a policy sees and does in an episode: text in, text out, the same for an embedded policy and a real model.
//!
//! A [`Harness`] opens an [`Episode`] on a task; the episode takes the policy's turns one by one, runs their tool calls in
//! order and answers with observations until the episode is over. It knows turns and texts; tokens are counted by whoever
//! samples them, with a [`TokenBudget`].
//!
//! Architecture invariant: a tool's error is an observation. Only a sandbox that itself failed is an `Err`.

mod budget;
pub mod leaf;

pub use budget::{Allowance, TokenBudget};
pub use tadpole_kernel::event::Exit;

use tadpole_scenarios::repository::Tree;

use crate::codec::Piece;
use crate::sandbox::{Sandbox, SandboxError};

/// What of a task an episode may know: no gold, no hidden tests.
#[derive(Clone, Copy, Debug)]
pub struct TaskView<'a> {
    /// The problem statement.
    pub statement: &'a str,
    /// The repository, with the fault in it.
    pub tree: &'a Tree,
}

/// How the sampling of a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// With the end-of-turn token, whatever the policy called.
    Stop,
    /// Cut by the limit on a turn's tokens.
    TurnTokens,
    /// Cut by the limit on the whole history.
    Context,
}

impl Finish {
    /// Reads an endpoint's `finish_reason`. Only the reasons that mean a cut are one: `tool_calls` and anything unknown
    /// are not. `cut` says which limit a cut means.
    pub fn from_reason(reason: &str, cut: Self) -> Self {
        match reason.to_ascii_lowercase().as_str() {
            "length" | "max_tokens" | "max_new_tokens" | "max_output_tokens" => cut,
            _ => Self::Stop,
        }
    }
}

/// A turn as it was sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelOutput {
    /// Its text, without the end-of-turn token.
    pub text: String,
    /// How it ended.
    pub finish: Finish,
}

impl ModelOutput {
    /// A turn that the policy ended itself.
    pub fn stopped(text: impl Into<String>) -> Self {
        Self { text: text.into(), finish: Finish::Stop }
    }
}

/// What a turn led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnOutcome {
    /// Another turn follows.
    Continue {
        /// One a call, in order.
        observations: Vec<String>,
        /// What follows the end-of-turn token in the history, up to the opening of the next turn.
        prompt: Vec<Piece>,
    },
    /// The episode is over.
    Done(Exit),
}

/// What is known of an episode so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpisodeFacts {
    /// Turns taken, a cut one included.
    pub turns: u32,
    /// Calls run, faulty ones included.
    pub tool_calls: u32,
    /// Calls answered with an error.
    pub tool_errors: u32,
    /// Edits and writes that took place.
    pub edits: u32,
    /// Whether a test really ran to a verdict in a command of the policy. An exit code proves nothing.
    pub ran_tests: bool,
}

/// A turn and what it led to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// What the policy wrote.
    pub output: String,
    /// The results of its calls, in order.
    pub observations: Vec<String>,
}

/// A set of tools and the rules of an episode.
pub trait Harness: Send + Sync {
    /// The system prompt; may be empty.
    fn system_prompt(&self) -> String;

    /// Opens an episode.
    fn begin(&self, task: &TaskView<'_>) -> Box<dyn Episode>;
}

/// One episode of a policy on a task.
pub trait Episode: Send {
    /// The prompt up to the opening of the policy's first turn.
    fn opening(&self) -> Vec<Piece>;

    /// Takes a turn: runs its calls in order, or ends the episode. A turn that was cut runs none. After the episode is
    /// over, the same exit is given again.
    fn turn(&mut self, output: &ModelOutput, sandbox: &dyn Sandbox) -> Result<TurnOutcome, SandboxError>;

    /// The repository as it is now.
    fn tree(&self) -> &Tree;

    /// What the policy changed against the recorded base, whatever it did to version control.
    fn patch(&self) -> Tree;

    /// What is known so far.
    fn facts(&self) -> EpisodeFacts;

    /// What was said so far.
    fn transcript(&self) -> &[Exchange];
}
