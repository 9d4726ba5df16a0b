//! The policy: a decoder-only transformer in the Qwen3 form, forward and backward.
//!
//! ```text
//! x    = E[t] (+ E1[t-1] + E2[t-2])              tables of the previous tokens, where there are such tokens
//! per layer:
//!   h  = norm(x) ; q, k, v = h Wq, h Wk, h Wv
//!   q, k = rotate(norm(q)), rotate(norm(k))      a head at a time
//!   x  = x + attend(q, k, v) Wo                  the chain starts at x
//!   h  = norm(x) ; x = x + (silu(h Wg) * (h Wu)) Wd
//! logits = norm(x) E^T
//! ```
//!
//! Every row of activations depends on its own sequence alone, by chains and reductions whose order is written down.
//! One function serves a trainer's whole sequences, prefill in chunks and decoding one token at a time, so their bits
//! are equal.
//!
//! Reductions other than matrix products (mean squares, maxima, sums of weights) run in 16 strided lanes and then down
//! a fixed tree. Attention takes two passes: all scores, their maximum and their weights; then the weighted values.

mod activations;
pub(crate) mod attention;
mod backward;
pub(crate) mod feed_forward;
mod forward;
mod gradient;
pub(crate) mod head;
pub(crate) mod kv;
mod model;
pub(crate) mod norm;
mod pages;
pub(crate) mod rope;
pub(crate) mod rotate;

pub(crate) use activations::{LayerState, Scratch, SequenceWork};
pub(crate) use forward::{Fault, Input, Span, inputs};
pub(crate) use gradient::{Gradients, Sum};
pub(crate) use head::{HeadState, target_rows};
pub(crate) use kv::{BLOCK, KvCache};
pub(crate) use model::{Model, Purpose};
pub(crate) use pages::{PageCopy, Pages};

#[cfg(test)]
mod tests;
