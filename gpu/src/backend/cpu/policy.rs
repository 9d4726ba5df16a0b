//! Weights ready to decode and score.

use super::super::check::{SCORE_ROWS, check_sequence, check_temperature, fault_at};
use super::super::{Decoder, Policy, Scores, Sequence};
use super::decoder::CpuDecoder;

use crate::error::{ArithmeticError, Quantity};
use crate::pool::Pool;
use crate::sample::log_softmax_row;
use crate::shape::ModelShape;
use crate::transformer::{Fault, HeadState, Model, target_rows};
use std::sync::Arc;

/// A model and the threads that score with it.
pub(super) struct CpuPolicy {
    model: Arc<Model>,
    pool: Pool,
}

impl CpuPolicy {
    pub(super) fn new(model: Model, pool: Pool) -> Self {
        Self { model: Arc::new(model), pool }
    }
}

impl Policy for CpuPolicy {
    fn shape(&self) -> &ModelShape {
        self.model.shape()
    }

    fn decoder(&self, slots: usize) -> Box<dyn Decoder> {
        Box::new(CpuDecoder::new(Arc::clone(&self.model), slots))
    }

    fn score(&self, sequences: &[Sequence], temperature: f32) -> Result<Vec<Scores>, ArithmeticError> {
        check_temperature(temperature, true)?;
        for (index, sequence) in sequences.iter().enumerate() {
            check_sequence(self.shape(), index, sequence)?;
        }
        let mut scores = vec![Scores::default(); sequences.len()];
        let items: Vec<(usize, &mut Scores)> = scores.iter_mut().enumerate().collect();
        let mut scorers: Vec<Option<Scorer>> = Vec::new();
        self.pool.for_each(&mut scorers, items, |scorer, (index, out)| {
            let scorer = scorer.get_or_insert_with(|| Scorer::new(&self.model));
            *out = scorer.score(&sequences[index], temperature).map_err(|fault| fault_at(fault, index))?;
            Ok(())
        })?;
        Ok(scores)
    }
}

/// What one thread scores with.
struct Scorer {
    model: Arc<Model>,
    decoder: CpuDecoder,
    head: HeadState,
    stream: Vec<f32>,
    log_probs: Vec<f32>,
    weights: Vec<f32>,
}

impl Scorer {
    fn new(model: &Arc<Model>) -> Self {
        let vocab = model.shape().vocab as usize;
        Self {
            model: Arc::clone(model),
            decoder: CpuDecoder::new(Arc::clone(model), 1),
            head: HeadState::default(),
            stream: Vec::new(),
            log_probs: vec![0.0; vocab],
            weights: vec![0.0; vocab],
        }
    }

    fn score(&mut self, sequence: &Sequence, temperature: f32) -> Result<Scores, Fault> {
        let (width, vocab) = (self.model.shape().width as usize, self.model.shape().vocab as usize);
        let stream = &mut self.stream;
        stream.clear();
        self.decoder.prefill(&sequence.tokens, |_, part| stream.extend_from_slice(part))?;
        let rows: Vec<usize> = target_rows(&sequence.targets).collect();
        let mut scores = Scores::default();
        for part in rows.chunks(SCORE_ROWS) {
            self.head.gather(&self.stream, width, part.iter().copied());
            self.model.logits(&mut self.head).map_err(|fault| Fault { row: part[fault.row], ..fault })?;
            for (logits, &row) in self.head.logits(vocab).chunks_exact(vocab).zip(part) {
                let (log_probs, weights) = (&mut self.log_probs, &mut self.weights);
                let Ok(sums) = log_softmax_row(self.model.isa, logits, temperature, log_probs, weights)
                else {
                    return Err(Fault { quantity: Quantity::Logits, layer: None, row });
                };
                scores.log_probs.push(log_probs[sequence.tokens[row + 1] as usize]);
                scores.entropies.push(sums.entropy);
            }
        }
        Ok(scores)
    }
}
