//! An episode as it was played, before it is tokens.

use crate::codec::{Piece, spelled};
use crate::tokenizer::{Tokenizer, TokenizerError};

use super::Demonstration;

/// Stretches of a history, each the expert's or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    parts: Vec<(Vec<Piece>, bool)>,
}

impl Script {
    /// Appends what the policy only reads.
    pub(super) fn shown(&mut self, pieces: Vec<Piece>) {
        self.parts.push((pieces, false));
    }

    /// Appends what the policy is to write.
    pub(super) fn written(&mut self, pieces: Vec<Piece>) {
        self.parts.push((pieces, true));
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts.iter().map(|(pieces, _)| spelled(pieces)).collect()
    }

    /// What tasks, tools and the expert wrote, less the template around it.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        let pieces = self.parts.iter().flat_map(|(pieces, _)| pieces);
        pieces.filter(|piece| matches!(piece, Piece::Text(_))).map(|piece| piece.text().to_owned()).collect()
    }

    /// Turns that the expert took.
    #[must_use]
    pub fn turns(&self) -> usize {
        self.parts.iter().filter(|(_, written)| *written).count()
    }

    /// As tokens; `None` where it is longer than `context`, or a turn than `turn` tokens.
    pub fn tokenised(
        &self,
        tokenizer: &Tokenizer,
        context: usize,
        turn: usize,
    ) -> Result<Option<Demonstration>, TokenizerError> {
        let (mut tokens, mut spans) = (Vec::new(), Vec::new());
        for (pieces, written) in &self.parts {
            let start = tokens.len();
            tokens.extend(tokenizer.encode_pieces(pieces)?);
            if *written {
                if tokens.len() - start > turn {
                    return Ok(None);
                }
                spans.push(start as u32..tokens.len() as u32);
            }
        }
        Ok((tokens.len() <= context).then_some(Demonstration { tokens, spans }))
    }
}
