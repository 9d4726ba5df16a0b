//! One episode under way: its token history, and what the next logits do to it.

use tadpole_gpu::sample;
use tadpole_kernel::draws::{DrawCount, Stream};
use tadpole_kernel::event::{Exit, Facts, Segment, Span, Tokens};

use super::assignment::{Assignment, Played};
use super::players::{PlayError, Players};
use crate::grading::{Graded, Hidden, grade, leaked, raw_reward, shaped_reward};
use crate::harness::{Allowance, Episode, Finish, ModelOutput, TaskView, TurnOutcome};

/// One episode under way.
pub(super) struct Live<'a> {
    players: &'a Players,
    assignment: &'a Assignment,
    episode: Box<dyn Episode>,
    /// The whole history, exactly as the policy sees it.
    tokens: Vec<u32>,
    /// How much of it is the opening.
    opening: usize,
    /// How much of it the decoder has seen.
    fed: usize,
    sampled: Vec<Span>,
    log_probs: Vec<f32>,
    nats: f64,
    turn: Turn,
    draws: DrawCount,
}

/// The turn under way.
struct Turn {
    index: u32,
    start: usize,
    allowance: Allowance,
    stream: Stream,
}

/// An episode just opened: under way, or over before its first token.
pub(super) enum Opened<'a> {
    UnderWay(Box<Live<'a>>),
    Over(Box<Played>),
}

impl<'a> Live<'a> {
    /// Opens the episode: its history is the prompt. A prompt that fills the context is an episode of no turns.
    pub(super) fn open(players: &'a Players, assignment: &'a Assignment) -> Result<Opened<'a>, PlayError> {
        let subject = &assignment.subject;
        let episode =
            players.harness.begin(&TaskView { statement: &subject.statement, tree: &subject.snapshot });
        let tokens = players.tokenizer.encode_pieces(&episode.opening())?;
        let allowance = players.budget.allowance(tokens.len());
        let mut live = Self {
            players,
            assignment,
            episode,
            fed: 0,
            sampled: Vec::new(),
            log_probs: Vec::new(),
            nats: 0.0,
            turn: Turn {
                index: 0,
                start: tokens.len(),
                allowance: allowance.unwrap_or(Allowance { tokens: 0, cut: Finish::Context }),
                stream: assignment.stream(players.recipe.seed, 0),
            },
            draws: DrawCount::default(),
            opening: tokens.len(),
            tokens,
        };
        match allowance {
            Ok(_) => Ok(Opened::UnderWay(Box::new(live))),
            Err(exit) => {
                live.tokens.truncate(players.budget.context as usize);
                Ok(Opened::Over(Box::new(live.finish(exit)?)))
            }
        }
    }

    /// Tokens that the decoder has not seen.
    pub(super) fn unfed(&self) -> &[u32] {
        &self.tokens[self.fed..]
    }

    /// The opening but for its last token: what the decoder may have seen before the first draw.
    pub(super) fn prefix(&self) -> &[u32] {
        &self.tokens[..self.opening.saturating_sub(1)]
    }

    /// The history so far.
    pub(super) fn history(&self) -> &[u32] {
        &self.tokens
    }

    /// Says that the decoder has seen `tokens` of the history, which is less than all.
    pub(super) fn fed(&mut self, tokens: usize) {
        self.fed = tokens;
    }

    /// Takes the logits behind the last token; the exit where the episode is over.
    pub(super) fn advance(&mut self, logits: &[f32]) -> Result<Option<Exit>, PlayError> {
        self.fed = self.tokens.len();
        let drawn = sample::sample(logits, self.assignment.temperature, self.turn.stream.uniform())?;
        self.tokens.push(drawn.token);
        self.log_probs.push(drawn.log_prob);
        self.nats += f64::from(drawn.entropy);
        let taken = self.tokens.len() - self.turn.start;
        if drawn.token == self.players.end_of_turn {
            let text = self.text(taken - 1);
            return self.end_turn(&ModelOutput::stopped(text));
        }
        if taken >= self.turn.allowance.tokens as usize {
            let output = ModelOutput { text: self.text(taken), finish: self.turn.allowance.cut };
            return self.end_turn(&output);
        }
        Ok(None)
    }

    /// Hands the turn to the episode and, where it goes on, appends what the policy sees next.
    fn end_turn(&mut self, output: &ModelOutput) -> Result<Option<Exit>, PlayError> {
        self.draws.count(&self.turn.stream);
        self.sampled.push(Span { start: self.turn.start as u32, end: self.tokens.len() as u32 });
        let prompt = match self.episode.turn(output, self.players.judge.sandbox.as_ref())? {
            TurnOutcome::Done(exit) => return Ok(Some(exit)),
            TurnOutcome::Continue { prompt, .. } => prompt,
        };
        let observed = self.players.tokenizer.encode_pieces(&prompt)?;
        let length = self.tokens.len() + observed.len();
        match self.players.budget.allowance(length) {
            Err(exit) => Ok(Some(exit)),
            Ok(allowance) => {
                self.tokens.extend(observed);
                let index = self.turn.index + 1;
                let stream = self.assignment.stream(self.players.recipe.seed, index);
                self.turn = Turn { index, start: length, allowance, stream };
                Ok(None)
            }
        }
    }

    fn text(&self, taken: usize) -> String {
        self.players.tokenizer.decode(&self.tokens[self.turn.start..self.turn.start + taken])
    }

    /// Grades the episode.
    pub(super) fn finish(self, exit: Exit) -> Result<Played, PlayError> {
        let Players { recipe, tokenizer, .. } = self.players;
        let (graded, facts) = self.graded()?;
        let sampled = self.log_probs.len() as u32;
        let Some(raw_reward) = raw_reward(&recipe.reward, exit, facts.grade) else {
            let fault = graded.fault.unwrap_or_else(|| "the episode was ended from outside".to_owned());
            return Err(PlayError::Grading(fault));
        };
        let iteration = self.assignment.iteration.0;
        let reward = shaped_reward(&recipe.reward, iteration, exit, raw_reward, sampled);
        let entropy = if sampled > 0 { (self.nats / f64::from(sampled)) as f32 } else { 0.0 };
        let tokens = Tokens::pack(&self.tokens, tokenizer.vocab_size());
        Ok(Played {
            assignment: self.assignment.clone(),
            segments: vec![Segment { tokens, sampled: self.sampled, log_probs: self.log_probs }],
            exit,
            facts,
            raw_reward,
            reward,
            entropy,
            tool_calls: self.episode.facts().tool_calls,
            patch: self.episode.patch().canonical_bytes(),
            draws: self.draws,
        })
    }

    /// Runs the hidden tests over the final tree: what they say, and the facts of the trajectory.
    fn graded(&self) -> Result<(Graded, Facts), PlayError> {
        let subject = &self.assignment.subject;
        let hidden = Hidden {
            base: &subject.snapshot,
            tests: &subject.hidden,
            gold: &subject.gold,
            fail_to_pass: &subject.fail_to_pass,
            pass_to_pass: &subject.pass_to_pass,
        };
        let judge = &self.players.judge;
        let graded = grade(&hidden, self.episode.tree(), judge.sandbox.as_ref(), &judge.limits)?;
        let seen = leaked(&hidden, &subject.statement, self.episode.transcript());
        let facts = graded.facts(self.episode.facts().ran_tests, seen);
        Ok((graded, facts))
    }
}
