//! The stream of demonstrations: the n-th of a stage is a function of seed, stage and n.

use std::collections::VecDeque;
use std::sync::Arc;

use tadpole_kernel::draws::{Stream, StreamKey};
use tadpole_kernel::id::{Iteration, Visit};
use tadpole_scenarios::draws::Draws;
use tadpole_scenarios::schema::PretrainScenario;

use super::demonstration::{Demonstration, DemonstrationError, Demonstrator, Noise};
use crate::parallel;
use crate::tokenizer::{Tokenizer, TokenizerError};

/// Why there is no next demonstration.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// One could not be made.
    #[error(transparent)]
    Demonstration(#[from] DemonstrationError),
    /// It could not be read as tokens.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

/// Demonstrations made together: enough for every thread.
const WAVE: u32 = 32;

/// A stream of demonstrations.
pub struct Corpus {
    scenario: Arc<PretrainScenario>,
    demonstrator: Demonstrator,
    tokenizer: Option<Arc<Tokenizer>>,
    threads: usize,
    /// The stage under way, and how many of its demonstrations were made.
    place: (usize, u32),
    ready: VecDeque<Demonstration>,
}

impl Corpus {
    /// The stream of `scenario`, made on `threads` threads.
    #[must_use]
    pub fn new(scenario: Arc<PretrainScenario>, demonstrator: Demonstrator, threads: usize) -> Self {
        Self { scenario, demonstrator, tokenizer: None, threads, place: (0, 0), ready: VecDeque::new() }
    }

    /// What the tokenizer learns from: demonstrations without mistakes, a third of them drills.
    pub fn tokenizer_texts(&self, count: u32) -> Result<Vec<String>, CorpusError> {
        let numbers: Vec<u32> = (0..count).collect();
        let texts = parallel::map(self.threads, &numbers, |_, &number| {
            let key = StreamKey { visit: Visit(number), ..StreamKey::new("tokenizer text") };
            let mut stream = Drawn(Stream::new(self.scenario.seed, &key));
            let script = if number % 3 == 2 {
                self.demonstrator.drill(&Noise::default(), &mut stream)
            } else {
                self.demonstrator.episode(&Noise::default(), &mut stream)
            };
            script.map(|script| script.map_or_else(Vec::new, |script| script.texts()))
        })?;
        Ok(texts.into_iter().flatten().collect())
    }

    /// Reads demonstrations with this `tokenizer.json` from now on.
    pub fn read_with(&mut self, tokenizer: &[u8]) -> Result<(), CorpusError> {
        self.tokenizer = Some(Arc::new(Tokenizer::load(tokenizer)?));
        Ok(())
    }

    /// The next demonstrations of `stage`, together at least `tokens` tokens. What is left of an earlier stage is dropped.
    pub fn batch(&mut self, stage: usize, tokens: u32) -> Result<Vec<Demonstration>, CorpusError> {
        if self.place.0 != stage {
            self.place = (stage, 0);
            self.ready.clear();
        }
        let (mut batch, mut length) = (Vec::new(), 0);
        while length < tokens as usize {
            match self.ready.pop_front() {
                Some(demonstration) => {
                    length += demonstration.tokens.len();
                    batch.push(demonstration);
                }
                None => self.make_ready()?,
            }
        }
        Ok(batch)
    }

    /// Makes the next wave. Waves are cut by number alone, so a batch does not depend on the threads that made it.
    fn make_ready(&mut self) -> Result<(), CorpusError> {
        let (stage, first) = self.place;
        let numbers: Vec<u32> = (first..first + WAVE).collect();
        let made = parallel::map(self.threads, &numbers, |_, &number| self.demonstration(stage, number))?;
        self.ready.extend(made.into_iter().flatten());
        self.place.1 += WAVE;
        Ok(())
    }

    fn demonstration(&self, stage: usize, number: u32) -> Result<Option<Demonstration>, CorpusError> {
        let (Some(tokenizer), Some(mix)) = (&self.tokenizer, self.scenario.stages.get(stage)) else {
            return Ok(None);
        };
        let key = StreamKey {
            iteration: Iteration(stage as u32),
            visit: Visit(number),
            ..StreamKey::new("demonstration")
        };
        let mut stream = Drawn(Stream::new(self.scenario.seed, &key));
        let drill = stream.chance(mix.drills);
        let noise = Noise::draw(&mix.demonstrations, &mut stream);
        let script = if drill {
            self.demonstrator.drill(&noise, &mut stream)?
        } else {
            self.demonstrator.episode(&noise, &mut stream)?
        };
        let Some(script) = script else { return Ok(None) };
        let harness = &self.scenario.harness;
        Ok(script.tokenised(tokenizer, harness.context as usize, harness.turn_tokens as usize)?)
    }
}

/// A stream of the kernel, as the world draws from it.
struct Drawn(Stream);

impl Draws for Drawn {
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}
