//! What decides, and what it decides with: harnesses, codecs, tokenizers, sandboxes, grading.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking"))]

pub mod codec;
pub mod grading;
pub mod harness;
pub mod interpreter;
pub mod sandbox;
pub mod tokenizer;
