//! Training: the most frequent pair is merged, again and again. Ties go to the pair of smaller ids, so a corpus has one
//! tokenizer.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{bytes, words};

/// Why no tokenizer of that size can be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TrainError {
    /// Bytes and scaffold alone are more than that.
    #[error("a vocabulary of {vocabulary} cannot hold 256 bytes and {scaffold} scaffold tokens")]
    TooSmall {
        /// What was asked for.
        vocabulary: u32,
        /// Scaffold tokens.
        scaffold: usize,
    },
    /// The corpus has no pair left to merge.
    #[error("the corpus gives {found} merges of {wanted}")]
    TooLittleText {
        /// Merges found.
        found: usize,
        /// Merges wanted.
        wanted: usize,
    },
}

/// Trains a byte-level BPE of `vocabulary` ids on `corpus` (texts, each with how often it counts) and returns its
/// `tokenizer.json`: 256 bytes, then merges, then `scaffold` as special tokens.
pub fn train<'a>(
    corpus: impl IntoIterator<Item = (&'a str, u64)>,
    vocabulary: u32,
    scaffold: &[String],
) -> Result<Vec<u8>, TrainError> {
    let wanted = (vocabulary as usize)
        .checked_sub(256 + scaffold.len())
        .ok_or(TrainError::TooSmall { vocabulary, scaffold: scaffold.len() })?;
    let mut trainer = Trainer::new(corpus);
    while trainer.merges.len() < wanted {
        if !trainer.merge_next() {
            return Err(TrainError::TooLittleText { found: trainer.merges.len(), wanted });
        }
    }
    Ok(render(&trainer, scaffold).into_bytes())
}

type Pair = (u32, u32);

struct Trainer {
    /// Distinct words as token ids, with their counts.
    words: Vec<(Vec<u32>, u64)>,
    /// How often each pair of neighbours occurs.
    pairs: BTreeMap<Pair, u64>,
    /// Words that hold or held a pair.
    holders: BTreeMap<Pair, BTreeSet<usize>>,
    /// Bytes of each id.
    tokens: Vec<Vec<u8>>,
    merges: Vec<Pair>,
}

impl Trainer {
    fn new<'a>(corpus: impl IntoIterator<Item = (&'a str, u64)>) -> Self {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for (text, weight) in corpus {
            for word in words::split(text) {
                *counts.entry(word).or_default() += weight;
            }
        }
        let mut trainer = Self {
            words: counts
                .into_iter()
                .map(|(word, count)| (word.bytes().map(u32::from).collect(), count))
                .collect(),
            pairs: BTreeMap::new(),
            holders: BTreeMap::new(),
            tokens: (0..=u8::MAX).map(|byte| vec![byte]).collect(),
            merges: Vec::new(),
        };
        for index in 0..trainer.words.len() {
            trainer.count(index);
        }
        trainer
    }

    /// Adds the pairs of a word.
    fn count(&mut self, index: usize) {
        let (word, count) = &self.words[index];
        for pair in word.windows(2) {
            *self.pairs.entry((pair[0], pair[1])).or_default() += count;
            self.holders.entry((pair[0], pair[1])).or_default().insert(index);
        }
    }

    /// Takes the pairs of a word away.
    fn discount(&mut self, index: usize) {
        let (word, count) = &self.words[index];
        for pair in word.windows(2) {
            if let Some(total) = self.pairs.get_mut(&(pair[0], pair[1])) {
                *total -= count;
            }
        }
    }

    /// Merges the most frequent pair; `false` where none occurs at least twice.
    fn merge_next(&mut self) -> bool {
        let best =
            self.pairs.iter().rev().max_by_key(|&(_, &count)| count).map(|(&pair, &count)| (pair, count));
        let Some((pair, 2..)) = best else { return false };
        let merged = self.tokens.len() as u32;
        let spelling = [self.tokens[pair.0 as usize].as_slice(), &self.tokens[pair.1 as usize]].concat();
        self.tokens.push(spelling);
        self.merges.push(pair);
        for index in self.holders.remove(&pair).unwrap_or_default() {
            self.discount(index);
            merge(&mut self.words[index].0, pair, merged);
            self.count(index);
        }
        self.pairs.remove(&pair);
        true
    }
}

/// Replaces every `pair` in `word`, from the left.
fn merge(word: &mut Vec<u32>, pair: Pair, merged: u32) {
    let mut kept = Vec::with_capacity(word.len());
    let mut at = 0;
    while at < word.len() {
        if word[at] == pair.0 && word.get(at + 1) == Some(&pair.1) {
            kept.push(merged);
            at += 2;
        } else {
            kept.push(word[at]);
            at += 1;
        }
    }
    *word = kept;
}

/// The file, written by hand in id order so that it reads well and never depends on a map's order.
fn render(trainer: &Trainer, scaffold: &[String]) -> String {
    let quoted = |id: u32| json!(bytes::characters(&trainer.tokens[id as usize])).to_string();
    let vocabulary: Vec<String> =
        (0..trainer.tokens.len() as u32).map(|id| format!("      {}: {id}", quoted(id))).collect();
    let merges: Vec<String> = trainer
        .merges
        .iter()
        .map(|&(left, right)| format!("      [{}, {}]", quoted(left), quoted(right)))
        .collect();
    let added: Vec<String> = (trainer.tokens.len()..)
        .zip(scaffold)
        .map(|(id, content)| {
            format!(
                "    {{\"id\": {id}, \"content\": {}, \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \
                 \"normalized\": false, \"special\": true}}",
                json!(content)
            )
        })
        .collect();
    format!(
        "{{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": [\n{}\n  ],\n  \
         \"normalizer\": null,\n  \"pre_tokenizer\": {{\"type\": \"Sequence\", \"pretokenizers\": [\n    {{\"type\": \
         \"Split\", \"pattern\": {{\"Regex\": {}}}, \"behavior\": \"Isolated\", \"invert\": false}},\n    {{\"type\": \
         \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": false}}\n  ]}},\n  \
         \"post_processor\": null,\n  \"decoder\": {{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \
         \"trim_offsets\": true, \"use_regex\": false}},\n  \"model\": {{\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \
         \"unk_token\": null,\n    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n    \
         \"fuse_unk\": false,\n    \"byte_fallback\": false,\n    \"ignore_merges\": false,\n    \"vocab\": \
         {{\n{}\n    }},\n    \"merges\": [\n{}\n    ]\n  }}\n}}\n",
        added.join(",\n"),
        Value::from(words::PATTERN),
        vocabulary.join(",\n"),
        merges.join(",\n"),
    )
}
