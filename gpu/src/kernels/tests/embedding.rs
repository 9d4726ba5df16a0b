use super::device::{Device, Failure, holds};
use super::values::{Values, below, plain, wild};
use crate::kernels::{Embed, EmbedGradient, NO_TOKEN, TakeRows};
use crate::transformer::inputs;

/// Widths below, at and above the threads of a block.
const WIDTHS: [usize; 3] = [16, 128, 208];
const VOCAB: usize = 23;

/// Token and previous tokens of sequences laid side by side, as the kernel has them.
fn input_words(sequences: &[Vec<u32>]) -> Vec<u32> {
    let mut words = Vec::new();
    for tokens in sequences {
        for input in inputs([None; 2], tokens) {
            words.push(input.token);
            words.extend(input.previous.map(|token| token.unwrap_or(NO_TOKEN)));
        }
    }
    words
}

fn sequences() -> Vec<Vec<u32>> {
    [5, 1, 0, 17, 2].into_iter().enumerate().map(|(i, len)| below(VOCAB as u32, len, i as u64)).collect()
}

#[test]
fn an_embedding_is_the_sum_of_its_tables_rows_in_order() {
    holds(|device| {
        let words = input_words(&sequences());
        for width in WIDTHS {
            for ngram in 0..=2 {
                let tables = wild((1 + ngram) * VOCAB * width, 9);
                let mut expected = Vec::new();
                for tokens in words.chunks_exact(3) {
                    for c in 0..width {
                        let row =
                            |table: usize, token: u32| tables[(table * VOCAB + token as usize) * width + c];
                        let mut sum = row(0, tokens[0]);
                        for (distance, &token) in tokens.iter().enumerate().take(1 + ngram).skip(1) {
                            if token != NO_TOKEN {
                                sum += row(distance, token);
                            }
                        }
                        expected.push(sum);
                    }
                }
                let rows = (words.len() / 3) as u32;
                let (inputs, tables, x) =
                    (device.put(&words), device.put(&tables), device.room(expected.len()));
                let (vocab, ngram, width) = (VOCAB as u32, ngram as u32, width as u32);
                device.run(&Embed { inputs, tables, vocab, ngram, rows, width, x })?;
                device.expect("x", x, &expected)?;
            }
        }
        Ok(())
    });
}

pub(super) fn gradient(device: &mut Device<'_>) -> Result<(), Failure> {
    let values: [Values; 4] = [plain, plain, wild, wild];
    for ((width, rows), values) in [(16, 90), (128, 0), (208, 1), (208, 60)].into_iter().zip(values) {
        // Few tokens, so that each has many rows.
        let (tokens, dx) = (below(7, rows, 5), values(rows * width, 6));
        let before = values(VOCAB * width, 7);
        let mut expected = before.clone();
        for (row, &token) in tokens.iter().enumerate() {
            for c in 0..width {
                expected[token as usize * width + c] += dx[row * width + c];
            }
        }
        let mut order: Vec<u32> = (0..rows as u32).collect();
        order.sort_by_key(|&row| tokens[row as usize]);
        let starts: Vec<u32> = (0..=VOCAB as u32)
            .map(|token| tokens.iter().filter(|&&other| other < token).count() as u32)
            .collect();
        let (starts, order) = (device.put(&starts), device.put(&order));
        let (dx, out) = (device.put(&dx), device.put(&before));
        device.run(&EmbedGradient { starts, order, dx, vocab: VOCAB as u32, width: width as u32, out })?;
        device.expect("out", out, &expected)?;
    }
    Ok(())
}

#[test]
fn gradients_of_a_tables_rows_are_added_in_the_order_of_tokens() {
    holds(gradient);
}

#[test]
fn rows_are_taken_and_missing_ones_are_zeros() {
    holds(|device| {
        for width in WIDTHS {
            let from = wild(6 * width, 1);
            let index = [5, NO_TOKEN, 0, 5, 3, NO_TOKEN, 1];
            let mut expected = Vec::new();
            for row in index {
                match row {
                    NO_TOKEN => expected.extend(vec![0.0; width]),
                    row => expected.extend_from_slice(&from[row as usize * width..][..width]),
                }
            }
            let (from, rows, width) = (device.put(&from), index.len() as u32, width as u32);
            let (index, out) = (device.put(&index), device.room(expected.len()));
            device.run(&TakeRows { from, index, rows, width, out })?;
            device.expect("out", out, &expected)?;
        }
        Ok(())
    });
}
