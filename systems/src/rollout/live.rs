//! One episode under way: its token history, and what the next logits do to it.

use tadpole_gpu::sample;
use tadpole_kernel::decide::DrawCount;
use tadpole_kernel::draws::Stream;
use tadpole_kernel::event::{Exit, Segment, Span, Tokens};

use super::assignment::{Assignment, Played};
use super::players::{PlayError, Players};
use super::reward::{raw_reward, shaped_reward};
use crate::harness::{Episode, Finish, ModelOutput, TurnOutcome};

/// One episode under way.
pub(super) struct Live<'a> {
    players: &'a Players,
    assignment: &'a Assignment,
    episode: Box<dyn Episode>,
    /// The whole history, exactly as the policy sees it.
    tokens: Vec<u32>,
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
    stream: Stream,
}

impl<'a> Live<'a> {
    /// Opens the episode: its history is the prompt.
    pub(super) fn begin(players: &'a Players, assignment: &'a Assignment) -> Self {
        let episode = players.harness.begin(&assignment.subject.view());
        let tokens = players.tokenizer.encode(&players.codec.opening(&players.system_prompt, &episode.opening()));
        let turn = Turn { index: 0, start: tokens.len(), stream: assignment.stream(players.seed, 0) };
        Self {
            players,
            assignment,
            episode,
            tokens,
            fed: 0,
            sampled: Vec::new(),
            log_probs: Vec::new(),
            nats: 0.0,
            turn,
            draws: DrawCount::default(),
        }
    }

    /// Whether the prompt alone leaves no room for a token.
    pub(super) fn is_full(&self) -> bool {
        self.tokens.len() >= self.players.rules.context as usize
    }

    /// Tokens that the decoder has not seen.
    pub(super) fn unfed(&self) -> &[u32] {
        &self.tokens[self.fed..]
    }

    /// Takes the logits behind the last token; the exit where the episode is over.
    pub(super) fn advance(&mut self, logits: &[f32]) -> Result<Option<Exit>, PlayError> {
        self.fed = self.tokens.len();
        let drawn = sample::sample(logits, self.assignment.temperature, self.turn.stream.uniform())?;
        self.tokens.push(drawn.token);
        self.log_probs.push(drawn.log_prob);
        self.nats += f64::from(drawn.entropy);
        let rules = &self.players.rules;
        if drawn.token == self.players.end_of_turn {
            return self.end_turn();
        }
        if self.tokens.len() >= rules.context as usize {
            return self.cut(Exit::MaxContext);
        }
        if self.tokens.len() - self.turn.start >= rules.turn_tokens as usize {
            return self.cut(Exit::MaxTurnTokens);
        }
        Ok(None)
    }

    /// A turn that ran into a limit: none of its calls runs.
    fn cut(&mut self, exit: Exit) -> Result<Option<Exit>, PlayError> {
        self.close_span();
        let output = ModelOutput { text: self.text_of_turn(self.tokens.len()), finish: Finish::Length };
        self.episode.turn(&output, self.players.sandbox.as_ref())?;
        Ok(Some(exit))
    }

    fn end_turn(&mut self) -> Result<Option<Exit>, PlayError> {
        self.close_span();
        let output = ModelOutput { text: self.text_of_turn(self.tokens.len() - 1), finish: Finish::Stop };
        match self.episode.turn(&output, self.players.sandbox.as_ref())? {
            TurnOutcome::Done(exit) => Ok(Some(exit)),
            TurnOutcome::Continue { observations } => {
                let pieces = self.players.codec.continuation(&observations);
                self.tokens.extend(self.players.tokenizer.encode(&pieces));
                if self.is_full() {
                    self.tokens.truncate(self.players.rules.context as usize);
                    return Ok(Some(Exit::MaxContext));
                }
                let index = self.turn.index + 1;
                let stream = self.assignment.stream(self.players.seed, index);
                self.turn = Turn { index, start: self.tokens.len(), stream };
                Ok(None)
            }
        }
    }

    fn text_of_turn(&self, end: usize) -> String {
        self.players.tokenizer.decode(&self.tokens[self.turn.start..end])
    }

    fn close_span(&mut self) {
        self.draws += DrawCount::of(&self.turn.stream);
        self.sampled.push(Span { start: self.turn.start as u32, end: self.tokens.len() as u32 });
    }

    /// Grades the episode.
    pub(super) fn finish(self, exit: Exit) -> Result<Played, PlayError> {
        let players = self.players;
        let graded = players.grade(&self.assignment.subject, self.episode.as_ref(), exit)?;
        let sampled = self.log_probs.len() as u32;
        let raw = raw_reward(&players.recipe, exit, graded.facts.grade);
        let reward = shaped_reward(&players.recipe, self.assignment.iteration.0, exit, raw, sampled);
        let entropy = if sampled > 0 { (self.nats / f64::from(sampled)) as f32 } else { 0.0 };
        let tokens = Tokens::pack(&self.tokens, players.vocabulary);
        Ok(Played {
            assignment: self.assignment.clone(),
            segments: vec![Segment { tokens, sampled: self.sampled, log_probs: self.log_probs }],
            exit,
            facts: graded.facts,
            raw_reward: raw,
            reward,
            entropy,
            tool_calls: self.episode.tool_calls(),
            patch: graded.patch.canonical_bytes(),
            draws: self.draws,
        })
    }
}
