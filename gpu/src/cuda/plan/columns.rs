//! What kernels are told of the rows of a micro-batch, column by column.

use crate::kernels::NO_TOKEN;
use crate::transformer::{BLOCK, inputs};

/// The columns of a micro-batch.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) inputs: Vec<u32>,
    pub(super) positions: Vec<u32>,
    pub(super) slots: Vec<u32>,
    pub(super) tables: Vec<u32>,
    pub(super) ends: Vec<u32>,
    pub(super) starts: Vec<u32>,
    pub(super) target_rows: Vec<u32>,
    pub(super) target_tokens: Vec<u32>,
    pub(super) target_starts: Vec<u32>,
    pub(super) row_targets: Vec<u32>,
    pub(super) pages: u32,
    pub(super) longest: u32,
}

impl Columns {
    /// Puts a sequence behind those that are there.
    pub(super) fn sequence(&mut self, slot: u32, tokens: &[u32], table_stride: usize) {
        let first = self.positions.len();
        let len = tokens.len();
        self.starts.push(first as u32);
        for input in inputs([None; 2], tokens) {
            self.inputs.push(input.token);
            self.inputs.extend(input.previous.map(|token| token.unwrap_or(NO_TOKEN)));
        }
        self.positions.extend(0..len as u32);
        self.slots.extend(std::iter::repeat_n(slot, len));
        self.ends.extend(std::iter::repeat_n((first + len) as u32, len));
        self.row_targets.extend(std::iter::repeat_n(NO_TOKEN, len));
        let pages = len.div_ceil(BLOCK);
        self.tables.extend(self.pages..self.pages + pages as u32);
        self.tables.extend(std::iter::repeat_n(NO_TOKEN, table_stride - pages));
        self.pages += pages as u32;
        self.longest = self.longest.max(len as u32);
    }

    /// The targets of the sequence that was put last.
    pub(super) fn targets(&mut self, tokens: &[u32], rows: impl Iterator<Item = usize>) {
        let first = self.positions.len() - tokens.len();
        self.target_starts.push(self.target_rows.len() as u32);
        for row in rows {
            self.row_targets[first + row] = self.target_rows.len() as u32;
            self.target_rows.push((first + row) as u32);
            self.target_tokens.push(tokens[row + 1]);
        }
    }
}

/// Rows sorted by the token `distance` back, rows of one token ascending: where each token's rows start, and the rows.
pub(super) fn by_token(inputs: &[u32], distance: usize, vocab: usize) -> (Vec<u32>, Vec<u32>) {
    let tokens = || inputs.iter().skip(distance).step_by(3).map(|&token| token as usize);
    let mut starts = vec![0_u32; vocab + 1];
    for token in tokens().filter(|&token| token < vocab) {
        starts[token + 1] += 1;
    }
    for token in 0..vocab {
        starts[token + 1] += starts[token];
    }
    let mut next = starts.clone();
    let mut order = vec![0; starts[vocab] as usize];
    for (row, token) in tokens().enumerate().filter(|&(_, token)| token < vocab) {
        order[next[token] as usize] = row as u32;
        next[token] += 1;
    }
    (starts, order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_token_stay_in_order_and_absent_tokens_have_none() {
        let none = NO_TOKEN;
        let inputs = [2, none, none, 0, 2, none, 2, 0, 2, 2, 2, 0];
        assert_eq!(by_token(&inputs, 0, 4), (vec![0, 1, 1, 4, 4], vec![1, 0, 2, 3]));
        assert_eq!(by_token(&inputs, 1, 4), (vec![0, 1, 1, 3, 3], vec![2, 1, 3]));
        assert_eq!(by_token(&inputs, 2, 4), (vec![0, 1, 1, 2, 2], vec![3, 2]));
    }
}
