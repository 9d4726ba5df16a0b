//! `[policy]`: where the base policy comes from.

use crate::schema::check::{Above, Anything, Multiple};
use crate::schema::table::keys;
use crate::schema::value::choice;

choice! {
    /// Where the base policy comes from.
    pub enum PolicySource {
        /// The one that ships with the binary.
        Embedded = "embedded",
        /// Fresh weights of `[policy.shape]`, drawn from the run seed: for tests, it solves nothing.
        Random = "random",
        /// The safetensors file `policy.path`.
        File = "file",
    }
}

keys! {
    /// The base policy. Its tokenizer is the embedded one unless a file brings its own.
    pub struct Policy {
        /// Where the base policy comes from: the shipped one, random weights of the shape below (for tests), or a file.
        source: PolicySource = PolicySource::Embedded, Anything;
        /// Directory with `model.safetensors` and `tokenizer.json`, relative to the scenario file; with source = "file" only.
        path: String = String::new(), Anything;
        /// Shape of a random policy; the others bring their own.
        shape: Shape = Shape::default(), Anything;
    }
}

keys! {
    /// Shape of a policy: a decoder-only transformer with look-up tables of the previous tokens beside the embedding.
    pub struct Shape {
        /// Tokens in the vocabulary.
        vocab: u32 = 640, 272..=262_144;
        /// Width of the residual stream.
        width: u32 = 96, Multiple(16, 16..=8_192);
        /// Layers.
        layers: u32 = 4, 1..=128;
        /// Query heads.
        heads: u32 = 3, 1..=128;
        /// Key-value heads; they divide the query heads.
        kv_heads: u32 = 1, 1..=128;
        /// Width of a head.
        head_dim: u32 = 32, Multiple(32, 32..=512);
        /// Hidden width of the feed-forward layers.
        hidden: u32 = 192, Multiple(16, 16..=32_768);
        /// Look-up tables of previous tokens added to the embedding.
        ngram: u32 = 2, 0..=2;
        /// Initial gain of the norms on queries and keys.
        qk_gain: f32 = 1.5, Above(0.0, 100.0);
        /// Base of the rotary position frequencies.
        rope_base: f32 = 1e4, 1.0..=1e8;
        /// Added to a mean square before its root is taken.
        norm_eps: f32 = 1e-6, Above(0.0, 1.0);
        /// Longest history in tokens.
        context: u32 = 1_024, 16..=1_048_576;
    }
}
