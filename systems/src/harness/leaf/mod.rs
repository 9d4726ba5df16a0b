//! Leaf: five typed tools; a turn without a tool call is the final answer.
//!
//! Tool names, parameters and results follow the public evaluation code of the recipe, with its faults mended: edits are
//! on bytes, ambiguity and no-change are errors, an offset past the end says so, and only a line break breaks a line.

mod arguments;
mod bash;
mod edit;
mod files;
mod glob;
mod read;
mod schema;
mod write;

pub use files::MOUNT;
pub use schema::TOOLS;

use std::sync::Arc;

use tadpole_scenarios::repository::Tree;

use super::{Episode, EpisodeFacts, Exchange, Exit, Finish, Harness, ModelOutput, TaskView, TurnOutcome};
use crate::codec::{Codec, Piece, ToolCall};
use crate::sandbox::{Limits, Sandbox, SandboxError};
use arguments::Arguments;
use files::Files;

/// How much of the prompt and of results is spelled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As a real model needs it: instructions, tool schemas, every section of a result.
    Full,
    /// As a policy that was trained on these tools needs it, with a few hundred tokens for everything: no system prompt,
    /// and a command's output without headings and empty sections.
    Terse,
}

/// Parameters of the harness.
#[derive(Clone, Debug)]
pub struct LeafConfig {
    /// Prompt and result style.
    pub style: Style,
    /// Turns in all.
    pub max_turns: u32,
    /// Calls of one turn that are run; further ones are answered with an error.
    pub max_calls: u32,
    /// Characters of a file that one Read shows.
    pub read_chars: usize,
    /// Characters that one Bash shows.
    pub bash_chars: usize,
    /// Files that one Glob lists.
    pub glob_files: usize,
    /// Limits of one command.
    pub limits: Limits,
}

impl LeafConfig {
    /// As the public evaluation code has it, within `limits` a command.
    pub fn full(limits: Limits) -> Self {
        Self {
            style: Style::Full,
            max_turns: 100,
            max_calls: 16,
            read_chars: 20_000,
            bash_chars: 30_000,
            glob_files: 1_000,
            limits,
        }
    }

    /// For a policy with a context of a few hundred tokens, within `limits` a command.
    pub fn terse(limits: Limits) -> Self {
        Self {
            style: Style::Terse,
            max_turns: 8,
            max_calls: 4,
            read_chars: 700,
            bash_chars: 500,
            glob_files: 20,
            limits,
        }
    }
}

const INSTRUCTIONS: &str = "You are a software-engineering agent working in a checked-out repository.\n\
     Use the available tools to inspect files, make focused edits, and run commands.\n\
     Solve the task, validate when practical, then give a brief final answer.";

/// The harness.
pub struct Leaf {
    config: Arc<LeafConfig>,
    codec: Arc<dyn Codec>,
}

impl Leaf {
    /// A harness that spells calls as `codec` does.
    pub fn new(config: LeafConfig, codec: Arc<dyn Codec>) -> Self {
        Self { config: Arc::new(config), codec }
    }
}

impl Harness for Leaf {
    fn system_prompt(&self) -> String {
        match self.config.style {
            Style::Full => format!("{INSTRUCTIONS}\n\n{}", self.codec.describe(TOOLS)),
            Style::Terse => String::new(),
        }
    }

    fn begin(&self, task: &TaskView<'_>) -> Box<dyn Episode> {
        Box::new(LeafEpisode {
            opening: self.codec.opening(&self.system_prompt(), task.statement),
            config: Arc::clone(&self.config),
            codec: Arc::clone(&self.codec),
            base: task.tree.clone(),
            files: Files::new(task.tree.clone()),
            facts: EpisodeFacts::default(),
            transcript: Vec::new(),
            exit: None,
        })
    }
}

struct LeafEpisode {
    config: Arc<LeafConfig>,
    codec: Arc<dyn Codec>,
    opening: Vec<Piece>,
    base: Tree,
    files: Files,
    facts: EpisodeFacts,
    transcript: Vec<Exchange>,
    exit: Option<Exit>,
}

impl Episode for LeafEpisode {
    fn opening(&self) -> Vec<Piece> {
        self.opening.clone()
    }

    fn turn(&mut self, output: &ModelOutput, sandbox: &dyn Sandbox) -> Result<TurnOutcome, SandboxError> {
        if let Some(exit) = self.exit {
            return Ok(TurnOutcome::Done(exit));
        }
        self.facts.turns += 1;
        self.transcript.push(Exchange { output: output.text.clone(), observations: Vec::new() });
        match output.finish {
            Finish::TurnTokens => return Ok(self.finish(Exit::MaxTurnTokens)),
            Finish::Context => return Ok(self.finish(Exit::MaxContext)),
            Finish::Stop => {}
        }
        let turn = self.codec.parse(&output.text);
        if turn.calls.is_empty() {
            return Ok(self.finish(Exit::Final));
        }
        let mut observations = Vec::with_capacity(turn.calls.len());
        let most = self.config.max_calls as usize;
        for (place, call) in turn.calls.iter().enumerate() {
            observations.push(if place < most {
                self.observe(call, sandbox)?
            } else {
                format!("Error: not run; a turn may make {most} calls")
            });
        }
        if let Some(exchange) = self.transcript.last_mut() {
            exchange.observations.clone_from(&observations);
        }
        if self.facts.turns >= self.config.max_turns {
            return Ok(self.finish(Exit::MaxTurns));
        }
        let prompt = self.codec.continuation(&observations);
        Ok(TurnOutcome::Continue { observations, prompt })
    }

    fn tree(&self) -> &Tree {
        self.files.tree()
    }

    fn patch(&self) -> Tree {
        self.files.changes_since(&self.base)
    }

    fn facts(&self) -> EpisodeFacts {
        self.facts
    }

    fn transcript(&self) -> &[Exchange] {
        &self.transcript
    }
}

/// A tool's answer, or what was wrong with the call. Both are observations.
type Answer = Result<String, String>;

impl LeafEpisode {
    fn finish(&mut self, exit: Exit) -> TurnOutcome {
        self.exit = Some(exit);
        TurnOutcome::Done(exit)
    }

    /// Runs a call.
    fn observe(&mut self, call: &ToolCall, sandbox: &dyn Sandbox) -> Result<String, SandboxError> {
        self.facts.tool_calls += 1;
        let answer = self.answer(call, sandbox)?;
        Ok(answer.unwrap_or_else(|fault| {
            self.facts.tool_errors += 1;
            match &call.fault {
                Some(spelling) => format!("Error: {spelling}; {fault}"),
                None => format!("Error: {fault}"),
            }
        }))
    }

    fn answer(&mut self, call: &ToolCall, sandbox: &dyn Sandbox) -> Result<Answer, SandboxError> {
        let arguments = Arguments::new(&call.arguments);
        Ok(match call.name.as_str() {
            "Read" => read::read(&self.files, &arguments, self.config.read_chars),
            "Write" => self.changing(|files| write::write(files, &arguments)),
            "Edit" => self.changing(|files| edit::edit(files, &arguments)),
            "Glob" => glob::glob(&self.files, &arguments, self.config.glob_files),
            "Bash" => match bash::run(&self.files, &arguments, &self.config, sandbox)? {
                Ok(run) => {
                    self.facts.ran_tests |= run.ran_tests;
                    self.files.apply(&run.changed);
                    Ok(run.text)
                }
                Err(fault) => Err(fault),
            },
            "" => Err("a call must give name and arguments".to_owned()),
            other => Err(format!("Unknown tool: {other}. Tools are Read, Write, Edit, Glob and Bash.")),
        })
    }

    fn changing(&mut self, change: impl FnOnce(&mut Files) -> Answer) -> Answer {
        let answer = change(&mut self.files);
        self.facts.edits += u32::from(answer.is_ok());
        answer
    }
}

/// The first `limit` characters of `text` and how many were cut.
fn cut(text: String, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text,
        Some((at, _)) => {
            format!("{}\n[truncated {} chars]", &text[..at], text[at..].chars().count())
        }
    }
}

#[cfg(test)]
mod tests;
