//! A sandbox whose answers that depend on the machine are recorded as effects.
//!
//! Everything a sandbox answers is a function of the request, but for two verdicts: the wall clock stopped it, or its worker
//! died twice. What a run once made of such a request it makes of it ever after: the answer is served from the effects store,
//! and the request is not run again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tadpole_kernel::effect::EffectStore;
use tadpole_kernel::event::Event;
use tadpole_scenarios::repository::Tree;

use super::wire::{self, Answer};
use super::{BashOutcome, Limits, Sandbox, SandboxError, TestReport};

/// The kind of these effects.
pub const KIND: &str = "watchdog";

/// A sandbox under watch, for the length of one decision. Clones watch together.
#[derive(Clone)]
pub struct Witness {
    sandbox: Arc<dyn Sandbox>,
    effects: EffectStore,
    seen: Arc<Mutex<BTreeMap<Vec<u8>, Event>>>,
}

impl Witness {
    /// Watches `sandbox`.
    #[must_use]
    pub fn new(sandbox: Arc<dyn Sandbox>, effects: EffectStore) -> Self {
        Self { sandbox, effects, seen: Arc::default() }
    }

    /// The effects that were used so far, in an order that no thread decides.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.lock().values().cloned().collect()
    }

    /// The recorded answer to `request`, or what `ask` says, recorded where its verdict depends on the machine.
    fn watched(
        &self,
        request: &[u8],
        ask: impl FnOnce(&dyn Sandbox) -> Result<Answer, SandboxError>,
    ) -> Result<Answer, SandboxError> {
        if self.effects.lookup(KIND, request).map_err(record_error)?.is_none() {
            let answer = ask(self.sandbox.as_ref())?;
            if !answer.depends_on_machine() {
                return Ok(answer);
            }
            return self.serve(request, || answer.encode());
        }
        // Recorded: `serve` never asks.
        self.serve(request, Vec::new)
    }

    fn serve(&self, request: &[u8], answer: impl FnOnce() -> Vec<u8>) -> Result<Answer, SandboxError> {
        let served =
            self.effects.serve(KIND, request, || Ok::<_, SandboxError>(answer())).map_err(record_error)?;
        self.lock().insert(request.to_vec(), served.event);
        Answer::decode(&served.bytes)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Event>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn record_error(error: tadpole_kernel::effect::EffectError) -> SandboxError {
    SandboxError::Record(error.to_string())
}

impl Sandbox for Witness {
    fn bash(&self, tree: &Tree, command: &str, limits: &Limits) -> Result<BashOutcome, SandboxError> {
        let request = wire::bash_request(tree, command, limits);
        match self.watched(&request, |sandbox| sandbox.bash(tree, command, limits).map(Answer::Bash))? {
            Answer::Bash(outcome) => Ok(outcome),
            _ => Err(SandboxError::Protocol("a recorded answer is to another question")),
        }
    }

    fn test(&self, tree: &Tree, files: &[String], limits: &Limits) -> Result<TestReport, SandboxError> {
        let request = wire::test_request(tree, files, limits);
        match self.watched(&request, |sandbox| sandbox.test(tree, files, limits).map(Answer::Test))? {
            Answer::Test(report) => Ok(report),
            _ => Err(SandboxError::Protocol("a recorded answer is to another question")),
        }
    }

    fn evaluate(
        &self,
        tree: &Tree,
        module: &str,
        expressions: &[String],
        limits: &Limits,
    ) -> Result<Vec<Result<String, String>>, SandboxError> {
        let request = wire::evaluate_request(tree, module, expressions, limits);
        let ask =
            |sandbox: &dyn Sandbox| sandbox.evaluate(tree, module, expressions, limits).map(Answer::Evaluate);
        match self.watched(&request, ask)? {
            Answer::Evaluate(values) => Ok(values),
            _ => Err(SandboxError::Protocol("a recorded answer is to another question")),
        }
    }
}
