//! Tokens as lines of text: each keeps its place, so that one of them can be marked.

use unicode_width::UnicodeWidthChar;

use crate::engine::Piece;

/// A part of a line that belongs to one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    /// Which token.
    pub(super) piece: usize,
    /// What of it stands on this line.
    pub(super) text: String,
}

/// The lines of a history that is `width` columns wide. A token that spells a line break shows it as `⏎`.
pub(super) fn lines(pieces: &[Piece], width: usize) -> Vec<Vec<Fragment>> {
    let mut flow = Flow { width: width.max(1), column: 0, lines: vec![Vec::new()] };
    for (index, piece) in pieces.iter().enumerate() {
        for letter in piece.text.chars() {
            match letter {
                '\n' => {
                    flow.put(index, '⏎');
                    flow.end_line();
                }
                '\t' => flow.put(index, '→'),
                control if control.is_control() => flow.put(index, '·'),
                letter => flow.put(index, letter),
            }
        }
    }
    flow.lines
}

/// The line on which the token `piece` begins.
pub(super) fn line_of(lines: &[Vec<Fragment>], piece: usize) -> usize {
    lines.iter().position(|line| line.iter().any(|fragment| fragment.piece == piece)).unwrap_or(0)
}

struct Flow {
    width: usize,
    column: usize,
    lines: Vec<Vec<Fragment>>,
}

impl Flow {
    fn put(&mut self, piece: usize, letter: char) {
        let wide = letter.width().unwrap_or(1);
        if self.column + wide > self.width {
            self.end_line();
        }
        self.column += wide;
        let Some(line) = self.lines.last_mut() else { return };
        match line.last_mut() {
            Some(fragment) if fragment.piece == piece => fragment.text.push(letter),
            _ => line.push(Fragment { piece, text: letter.to_string() }),
        }
    }

    fn end_line(&mut self) {
        self.lines.push(Vec::new());
        self.column = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str) -> Piece {
        Piece { text: text.to_owned(), sampled: true }
    }

    #[test]
    fn tokens_keep_their_places_over_the_ends_of_lines() {
        let pieces = ["ab", "cdef\n", "\n", "g漢h"].map(piece);
        let lines = lines(&pieces, 3);
        let shown: Vec<String> =
            lines.iter().map(|line| line.iter().map(|fragment| fragment.text.as_str()).collect()).collect();
        assert_eq!(shown, ["abc", "def", "⏎", "⏎", "g漢", "h"]);
        assert_eq!([0, 1, 2, 3].map(|piece| line_of(&lines, piece)), [0, 0, 3, 4]);
    }
}
