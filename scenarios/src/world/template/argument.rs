//! Random arguments of calls, as Python literals.

use serde::Deserialize;

use super::expression::{Bindings, Expression, fill};
use crate::draws::{Draws, DrawsExt as _};

/// How one argument is drawn. Bounds are inclusive expressions over the parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Argument {
    /// Low, high.
    Int([Expression; 2]),
    /// Low and high of a number, and what it is multiplied by.
    Multiple([Expression; 3]),
    /// Shortest, longest, low, high.
    Ints([Expression; 4]),
    /// Shortest, longest, alphabet.
    Text(Expression, Expression, String),
    /// Fewest, most, low, high, separator: numbers joined in a text.
    Joined(Expression, Expression, Expression, Expression, String),
    /// Fewest, most: a list of words.
    Words([Expression; 2]),
    /// Fewest, most, low, high: a dictionary of words and numbers.
    Table([Expression; 4]),
    /// Fewest, most, least and greatest distance from the end of one to the start of the next, greatest length:
    /// a sorted list of spans.
    Spans([Expression; 5]),
    /// Fewest and most rows, shortest and longest row, low, high: a list of lists.
    Rows([Expression; 6]),
}

impl Argument {
    /// Draws a literal.
    pub(crate) fn draw(
        &self,
        bindings: &Bindings,
        words: &[String],
        draws: &mut dyn Draws,
    ) -> Result<String, String> {
        let mut source = Source { bindings, words, draws };
        match self {
            Self::Int([low, high]) => source.number(low, high).map(|value| value.to_string()),
            Self::Multiple([low, high, factor]) => {
                let factor = factor.evaluate(bindings)?;
                source.number(low, high).map(|value| value.saturating_mul(factor).to_string())
            }
            Self::Ints([fewest, most, low, high]) => source.ints(fewest, most, low, high),
            Self::Text(fewest, most, alphabet) => source.text(fewest, most, alphabet),
            Self::Joined(fewest, most, low, high, separator) => {
                let numbers = source.numbers(fewest, most, low, high)?;
                Ok(format!("\"{}\"", join(&numbers, &fill(separator, bindings)?)))
            }
            Self::Words([fewest, most]) => {
                let count = source.number(fewest, most)?;
                let words: Vec<String> = (0..count).map(|_| source.word()).collect();
                Ok(format!("[{}]", words.join(", ")))
            }
            Self::Table([fewest, most, low, high]) => source.table(fewest, most, low, high),
            Self::Spans([fewest, most, low, high, width]) => source.spans(fewest, most, low, high, width),
            Self::Rows([fewest, most, shortest, longest, low, high]) => {
                let count = source.number(fewest, most)?;
                let rows: Result<Vec<String>, String> =
                    (0..count).map(|_| source.ints(shortest, longest, low, high)).collect();
                Ok(format!("[{}]", rows?.join(", ")))
            }
        }
    }
}

struct Source<'a> {
    bindings: &'a Bindings,
    words: &'a [String],
    draws: &'a mut dyn Draws,
}

impl Source<'_> {
    fn number(&mut self, low: &Expression, high: &Expression) -> Result<i64, String> {
        Ok(self.draws.between(low.evaluate(self.bindings)?, high.evaluate(self.bindings)?))
    }

    fn numbers(
        &mut self,
        fewest: &Expression,
        most: &Expression,
        low: &Expression,
        high: &Expression,
    ) -> Result<Vec<i64>, String> {
        let count = self.number(fewest, most)?;
        (0..count).map(|_| self.number(low, high)).collect()
    }

    fn ints(
        &mut self,
        fewest: &Expression,
        most: &Expression,
        low: &Expression,
        high: &Expression,
    ) -> Result<String, String> {
        Ok(format!("[{}]", join(&self.numbers(fewest, most, low, high)?, ", ")))
    }

    fn text(&mut self, fewest: &Expression, most: &Expression, alphabet: &str) -> Result<String, String> {
        let letters: Vec<char> = fill(alphabet, self.bindings)?.chars().collect();
        let count = self.number(fewest, most)?;
        let drawn = (0..count).filter_map(|_| letters.get(self.draws.index(letters.len())));
        Ok(format!("\"{}\"", drawn.collect::<String>()))
    }

    fn word(&mut self) -> String {
        let index = self.draws.index(self.words.len());
        self.words.get(index).map_or_else(String::new, |word| format!("\"{word}\""))
    }

    /// Keys are drawn without repetition, by a start and steps through the list of words.
    fn table(
        &mut self,
        fewest: &Expression,
        most: &Expression,
        low: &Expression,
        high: &Expression,
    ) -> Result<String, String> {
        let mut order: Vec<&String> = self.words.iter().collect();
        self.draws.shuffle(&mut order);
        let numbers = self.numbers(fewest, most, low, high)?;
        let pairs: Vec<String> =
            order.iter().zip(&numbers).map(|(word, number)| format!("\"{word}\": {number}")).collect();
        Ok(format!("{{{}}}", pairs.join(", ")))
    }

    fn spans(
        &mut self,
        fewest: &Expression,
        most: &Expression,
        low: &Expression,
        high: &Expression,
        width: &Expression,
    ) -> Result<String, String> {
        let count = self.number(fewest, most)?;
        let mut spans = Vec::new();
        let mut end = 0_i64;
        for _ in 0..count {
            let start = end.saturating_add(self.number(low, high)?);
            end = start.saturating_add(self.number(&Expression::Literal(1), width)?);
            spans.push(format!("[{start}, {end}]"));
        }
        Ok(format!("[{}]", spans.join(", ")))
    }
}

fn join(numbers: &[i64], separator: &str) -> String {
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(separator)
}
