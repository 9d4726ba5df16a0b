//! What decides, and what it decides with: harnesses, codecs, tokenizers, sandboxes, grading.

pub mod codec;
pub mod harness;
pub mod sandbox;
pub mod tokenizer;
