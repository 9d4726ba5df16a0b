//! Text to token ids and back. Byte-level BPE from a standard `tokenizer.json`, read by the `tokenizers` crate.
//!
//! Special tokens are kept out of that crate's hands: they are found in template pieces only, so no text can spell one.

mod bytes;
mod train;
mod words;

pub use train::{TrainError, train};

use std::collections::{BTreeMap, HashMap};
use std::sync::RwLock;

use serde_json::Value;
use tadpole_kernel::id::Digest;
use tokenizers::Model as _;

use crate::codec::Piece;

/// Why a tokenizer cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// The file is not JSON.
    #[error("the tokenizer file is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The `tokenizers` crate refused it.
    #[error("the tokenizer cannot be loaded: {0}")]
    Load(String),
    /// It is not what this type can decode without loss.
    #[error("the tokenizer is not a byte-level BPE: {0}")]
    NotByteLevel(String),
    /// A text could not be encoded.
    #[error("a text of {length} bytes cannot be encoded: {fault}")]
    Encode {
        /// Length of the text.
        length: usize,
        /// What the crate said.
        fault: String,
    },
}

/// A tokenizer. Any number of threads may use one; results depend on nothing but the file and the text.
pub struct Tokenizer {
    /// The file without its added tokens.
    inner: tokenizers::Tokenizer,
    /// Special tokens, by spelling.
    specials: BTreeMap<String, u32>,
    /// The same, the longest first.
    by_length: Vec<(String, u32)>,
    /// Bytes of each id; empty where an id is not used.
    spellings: Vec<Vec<u8>>,
    /// Whether the file splits words as [`words::PATTERN`] does, so that the splitter written for it may be used.
    own_words: bool,
    /// Ids of words seen before.
    cache: RwLock<HashMap<Box<str>, Box<[u32]>>>,
    digest: Digest,
}

/// Words kept in the cache; further ones are computed each time.
const CACHED_WORDS: usize = 1 << 16;

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    pub fn load(file: &[u8]) -> Result<Self, TokenizerError> {
        let mut json: Value = serde_json::from_slice(file)?;
        let specials = take_added_tokens(&mut json)?;
        let own_words = json.pointer("/pre_tokenizer/pretokenizers/0/pattern/Regex").and_then(Value::as_str)
            == Some(words::PATTERN)
            && json.get("normalizer").is_none_or(Value::is_null);
        let stripped = serde_json::to_vec(&json)?;
        let inner = tokenizers::Tokenizer::from_bytes(stripped)
            .map_err(|fault| TokenizerError::Load(fault.to_string()))?;
        let spellings = spellings(&inner, &specials)?;
        let mut by_length: Vec<(String, u32)> =
            specials.iter().map(|(text, &id)| (text.clone(), id)).collect();
        by_length.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        let digest = Digest::of(file);
        Ok(Self { inner, specials, by_length, spellings, own_words, cache: RwLock::default(), digest })
    }

    /// Digest of the file.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// One more than the largest id.
    pub fn vocab_size(&self) -> u32 {
        self.spellings.len() as u32
    }

    /// The id of the special token that is spelled `name`.
    pub fn special(&self, name: &str) -> Option<u32> {
        self.specials.get(name).copied()
    }

    /// Encodes `pieces`. Special tokens are found in template pieces, the longest first; text between two of them is
    /// encoded as one stretch, wherever its pieces came from.
    pub fn encode_pieces(&self, pieces: &[Piece]) -> Result<Vec<u32>, TokenizerError> {
        let mut ids = Vec::new();
        let mut stretch = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => stretch.push_str(text),
                Piece::Template(text) => self.encode_template(text, &mut stretch, &mut ids)?,
            }
        }
        self.encode_into(&stretch, &mut ids)?;
        Ok(ids)
    }

    fn encode_template(
        &self,
        text: &str,
        stretch: &mut String,
        ids: &mut Vec<u32>,
    ) -> Result<(), TokenizerError> {
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            if let Some((special, id)) =
                self.by_length.iter().find(|(special, _)| rest.starts_with(special.as_str()))
            {
                self.encode_into(stretch, ids)?;
                stretch.clear();
                ids.push(*id);
                rest = &rest[special.len()..];
            } else {
                stretch.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
        Ok(())
    }

    /// Encodes text in which nothing is special.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let mut ids = Vec::new();
        self.encode_into(text, &mut ids)?;
        Ok(ids)
    }

    /// Encodes bytes that need not be UTF-8: valid stretches as text, every other byte as its own token.
    pub fn encode_bytes(&self, bytes: &[u8]) -> Result<Vec<u32>, TokenizerError> {
        let mut ids = Vec::new();
        for chunk in bytes.utf8_chunks() {
            self.encode_into(chunk.valid(), &mut ids)?;
            for byte in chunk.invalid() {
                let token = bytes::character(*byte).to_string();
                let id = self.inner.token_to_id(&token);
                ids.push(
                    id.ok_or_else(|| TokenizerError::NotByteLevel(format!("no token for byte {byte}")))?,
                );
            }
        }
        Ok(ids)
    }

    fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), TokenizerError> {
        if text.is_empty() {
            return Ok(());
        }
        if self.own_words {
            return words::split(text).try_for_each(|word| self.encode_word(word, ids));
        }
        let encoding = self.inner.encode_fast(text, false).map_err(|fault| refused(text, &*fault))?;
        ids.extend_from_slice(encoding.get_ids());
        Ok(())
    }

    fn encode_word(&self, word: &str, ids: &mut Vec<u32>) -> Result<(), TokenizerError> {
        if let Ok(cache) = self.cache.read()
            && let Some(known) = cache.get(word)
        {
            ids.extend_from_slice(known);
            return Ok(());
        }
        let characters = bytes::characters(word.as_bytes());
        let tokens = self.inner.get_model().tokenize(&characters).map_err(|fault| refused(word, &*fault))?;
        let found: Box<[u32]> = tokens.iter().map(|token| token.id).collect();
        ids.extend_from_slice(&found);
        if let Ok(mut cache) = self.cache.write()
            && cache.len() < CACHED_WORDS
        {
            cache.insert(word.into(), found);
        }
        Ok(())
    }

    /// The bytes that `ids` spell; an id beyond the vocabulary spells nothing.
    pub fn decode_bytes(&self, ids: &[u32]) -> Vec<u8> {
        ids.iter().filter_map(|&id| self.spellings.get(id as usize)).flatten().copied().collect()
    }

    /// What `ids` spell, with U+FFFD for bytes that are not UTF-8.
    pub fn decode(&self, ids: &[u32]) -> String {
        String::from_utf8_lossy(&self.decode_bytes(ids)).into_owned()
    }
}

fn refused(text: &str, fault: &dyn std::error::Error) -> TokenizerError {
    TokenizerError::Encode { length: text.len(), fault: fault.to_string() }
}

/// Takes `added_tokens` out of the file: spelling to id.
fn take_added_tokens(json: &mut Value) -> Result<BTreeMap<String, u32>, TokenizerError> {
    let Some(fields) = json.as_object_mut() else {
        return Err(TokenizerError::Load("the file is not a JSON object".to_owned()));
    };
    let added = fields.insert("added_tokens".to_owned(), Value::Array(Vec::new()));
    // Post-processors add special tokens of their own; templates here are the codec's business.
    fields.insert("post_processor".to_owned(), Value::Null);
    let Some(Value::Array(added)) = added else { return Ok(BTreeMap::new()) };
    added
        .iter()
        .map(|token| {
            let content = token.get("content").and_then(Value::as_str).filter(|content| !content.is_empty());
            let id = token.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
            content
                .zip(id)
                .map(|(content, id)| (content.to_owned(), id))
                .ok_or_else(|| TokenizerError::Load(format!("added token {token} has no content or no id")))
        })
        .collect()
}

/// Bytes of each id.
fn spellings(
    inner: &tokenizers::Tokenizer,
    specials: &BTreeMap<String, u32>,
) -> Result<Vec<Vec<u8>>, TokenizerError> {
    let vocabulary: BTreeMap<String, u32> = inner.get_vocab(false).into_iter().collect();
    let largest = vocabulary.values().chain(specials.values()).max().copied().unwrap_or(0);
    if largest as usize > 4 * (vocabulary.len() + specials.len()) {
        return Err(TokenizerError::NotByteLevel(format!(
            "id {largest} in a vocabulary of {}",
            vocabulary.len()
        )));
    }
    let mut spellings = vec![Vec::new(); largest as usize + 1];
    for (token, &id) in &vocabulary {
        spellings[id as usize] =
            bytes::spelled(token).ok_or_else(|| TokenizerError::NotByteLevel(format!("token {token:?}")))?;
    }
    for byte in 0..=u8::MAX {
        if !vocabulary.contains_key(&bytes::character(byte).to_string()) {
            return Err(TokenizerError::NotByteLevel(format!("no token for byte {byte}")));
        }
    }
    for (text, &id) in specials {
        spellings[id as usize] = text.as_bytes().to_vec();
    }
    Ok(spellings)
}

#[cfg(test)]
mod tests;
