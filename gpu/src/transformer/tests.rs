//! Every kernel of the transformer has the bits of the scalar specification, for shapes around its blocks' edges and for
//! numbers that round, cancel and underflow.

use super::attention::{Attend, AttendBackward, BackwardScratch, RowStat};
use super::feed_forward::{Gated, GatedBackward};
use super::forward::Span;
use super::head::LogitGradient;
use super::kv::{KvCache, Place};
use super::norm::{Norm, NormBackward};
use super::rope::Rope;
use super::rotate::{HeadGains, Heads, Rotate, RotateBackward};
use crate::shape::ModelShape;
use crate::shape::tests::TINY;
use crate::vector::Isa;
use crate::weights::test_words;

/// Three query heads to a key head of two vectors; two to each of two key heads of four vectors.
const SHAPES: [ModelShape; 2] =
    [ModelShape { heads: 3, ..TINY }, ModelShape { heads: 4, kv_heads: 2, head_dim: 64, ..TINY }];
const EPS: f32 = 1e-6;

/// Ordinary numbers, zeros of both signs, subnormals, and numbers whose squares nearly overflow.
fn numbers(len: usize, seed: u64) -> Vec<f32> {
    let mut words = test_words(seed);
    let mut draw = || {
        let word = words();
        let ordinary = (word >> 40) as f32 / 4_194_304.0 - 2.0;
        match word % 32 {
            0 => 0.0,
            1 => -0.0,
            2 => f32::from_bits((word >> 32) as u32 & 0x807f_ffff),
            3 => ordinary * 1e-20,
            4 => ordinary * 60.0,
            5 if seed.is_multiple_of(2) => ordinary * 1e18,
            _ => ordinary,
        }
    };
    (0..len).map(|_| draw()).collect()
}

/// Requires of every instruction set what the scalar one computes. Which NaN a NaN is has no meaning.
fn check(what: &str, compute: impl Fn(Isa) -> Vec<f32>) {
    let bits = |isa| -> Vec<u32> {
        let canonical = |value: f32| if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() };
        compute(isa).into_iter().map(canonical).collect()
    };
    let expected = bits(Isa::SCALAR);
    for isa in Isa::available() {
        assert_eq!(bits(isa), expected, "{} {what}", isa.name());
    }
}

fn heads_of(shape: &ModelShape) -> Heads {
    Heads { queries: shape.heads as usize, keys: shape.kv_heads as usize, head_dim: shape.head_dim as usize }
}

#[test]
fn norms_forward_and_backward_have_the_bits_of_the_specification() {
    for (rows, width) in [(0, 16), (1, 16), (3, 48), (17, 96), (2, 640)] {
        for seed in 0..6 {
            let (x, gain) = (numbers(rows * width, seed), numbers(width, 50 + seed));
            let (dout, dx) = (numbers(rows * width, 100 + seed), numbers(rows * width, 150 + seed));
            check(&format!("norm {rows}x{width} seed {seed}"), |isa| {
                let [mut hat, mut out] = [vec![0.0; rows * width], vec![0.0; rows * width]];
                let mut inverse = vec![0.0; rows];
                let forward = Norm {
                    x: &x,
                    gain: &gain,
                    eps: EPS,
                    hat: &mut hat,
                    inverse: &mut inverse,
                    out: &mut out,
                };
                let refused = forward.run(isa).map_or(-1.0, |row| row as f32);
                let (mut dx, mut dgain) = (dx.clone(), numbers(width, 200));
                let backward = NormBackward {
                    dout: &dout,
                    hat: &hat,
                    inverse: &inverse,
                    gain: &gain,
                    dx: &mut dx,
                    dgain: &mut dgain,
                };
                backward.run(isa);
                [hat, out, inverse, dx, dgain, vec![refused]].concat()
            });
        }
    }
}

#[test]
fn rotations_forward_and_backward_have_the_bits_of_the_specification() {
    for shape in SHAPES {
        let (heads, rope) = (heads_of(&shape), Rope::new(&shape));
        let dim = heads.head_dim;
        let (width, stride) = (heads.width(), heads.width() + 16);
        for rows in [0, 1, 5, 33] {
            for seed in 0..4 {
                let (x, dout) = (numbers(rows * stride, seed), numbers(rows * width, 30 + seed));
                let (query, key) = (numbers(dim, 60 + seed), numbers(dim, 90 + seed));
                let gains = HeadGains { query: &query, key: &key };
                let positions: Vec<usize> = (0..rows).collect();
                check(&format!("{} heads, {rows} rows, seed {seed}", heads.queries), |isa| {
                    let [mut hat, mut out] = [vec![0.0; rows * width], vec![0.0; rows * width]];
                    let mut inverse = vec![0.0; rows * (heads.queries + heads.keys)];
                    let forward = Rotate {
                        heads,
                        gains,
                        eps: EPS,
                        rope: &rope,
                        positions: &positions,
                        x: &x,
                        stride,
                        hat: &mut hat,
                        inverse: &mut inverse,
                        out: &mut out,
                    };
                    let refused = forward.run(isa).map_or(-1.0, |row| row as f32);
                    let (mut dout, mut dx) = (dout.clone(), x.clone());
                    let (mut dquery, mut dkey) = (vec![0.0; dim], vec![0.0; dim]);
                    let backward = RotateBackward {
                        heads,
                        gains,
                        rope: &rope,
                        hat: &hat,
                        inverse: &inverse,
                        dout: &mut dout,
                        dx: &mut dx,
                        stride,
                        dquery_gain: &mut dquery,
                        dkey_gain: &mut dkey,
                    };
                    backward.run(isa);
                    [hat, out, inverse, dx, dquery, dkey, vec![refused]].concat()
                });
            }
        }
    }
}

#[test]
fn the_gated_unit_forward_and_backward_has_the_bits_of_the_specification() {
    for (rows, hidden) in [(0, 16), (1, 16), (3, 48), (7, 192)] {
        for seed in 0..6 {
            let (gate_up, dact) = (numbers(rows * 2 * hidden, seed), numbers(rows * hidden, 40 + seed));
            check(&format!("gated {rows}x{hidden} seed {seed}"), |isa| {
                let (mut act, mut gradient) = (vec![0.0; rows * hidden], gate_up.clone());
                Gated { hidden, gate_up: &gate_up, act: &mut act }.run(isa);
                GatedBackward { hidden, dact: &dact, gate_up: &mut gradient }.run(isa);
                [act, gradient].concat()
            });
        }
    }
}

#[test]
fn gradients_of_logits_have_the_bits_of_the_specification() {
    for len in [1, 15, 16, 17, 31, 640] {
        for seed in 0..6 {
            let weights: Vec<f32> = numbers(len, seed).into_iter().map(f32::abs).collect();
            let sum = weights.iter().sum::<f32>() + 1.0;
            for token in [0, len / 2, len - 1] {
                check(&format!("row of {len}, token {token}, seed {seed}"), |isa| {
                    let mut row = weights.clone();
                    LogitGradient { row: &mut row, sum, token, gradient: -0.37 }.run(isa);
                    row
                });
            }
        }
    }
}

/// A cache of one layer's keys and values at `len` positions of each slot.
fn cache(shape: &ModelShape, lens: &[usize], seed: u64) -> KvCache {
    let dim = shape.head_dim as usize;
    let mut cache = KvCache::new(shape, lens.len());
    for (slot, &len) in lens.iter().enumerate() {
        cache.reserve(slot, len);
        for position in 0..len {
            for head in 0..shape.kv_heads as usize {
                let seed = seed + (slot * 10_000 + position * 10 + head) as u64;
                let (key, value) = (numbers(dim, 2 * seed + 1), numbers(dim, 2 * seed + 100_001));
                cache.write(Place { slot, layer: 0, head, position }, &key, &value);
            }
        }
        cache.advance(slot, &vec![0; len]);
    }
    cache
}

#[test]
fn attention_has_the_bits_of_the_specification_for_every_cut_of_sequences_into_spans() {
    // Rows of each slot that are asked about: its last ones.
    let cases: [&[(usize, usize)]; 5] =
        [&[(1, 1)], &[(17, 17), (1, 1)], &[(16, 1), (33, 1), (50, 1)], &[(50, 31), (16, 16)], &[(64, 64)]];
    for shape in SHAPES {
        let heads = heads_of(&shape);
        for (case, slots) in cases.into_iter().enumerate() {
            let lens: Vec<usize> = slots.iter().map(|&(len, _)| len).collect();
            let cache = cache(&shape, &lens, case as u64);
            let mut spans = Vec::new();
            let mut rows = 0;
            for (slot, &(len, asked)) in slots.iter().enumerate() {
                spans.push(Span { slot, first: rows, rows: asked, start: len - asked });
                rows += asked;
            }
            let queries = numbers(rows * heads.width(), 7 + 2 * case as u64);
            check(&format!("attention, case {case}"), |isa| {
                let mut out = vec![0.0; rows * heads.queries * heads.head_dim];
                let mut stats = vec![RowStat::default(); rows * heads.queries];
                let attend = Attend {
                    heads,
                    layer: 0,
                    spans: &spans,
                    cache: &cache,
                    queries: &queries,
                    scale: 0.17,
                    scores: &mut Vec::new(),
                    out: &mut out,
                    stats: &mut stats,
                };
                let refused = attend.run(isa).map_or(-1.0, |row| row as f32);
                out.extend(stats.iter().flat_map(|stat| [stat.largest, stat.sum]));
                out.push(refused);
                out
            });
        }
    }
}

#[test]
fn the_gradient_of_attention_has_the_bits_of_the_specification() {
    for shape in SHAPES {
        let heads = heads_of(&shape);
        let (width, out_width) = (heads.width(), heads.queries * heads.head_dim);
        for len in [1, 2, 15, 16, 17, 50, 64] {
            let cache = cache(&shape, &[len], 3);
            let (queries, dout) = (numbers(len * width, 11), numbers(len * out_width, 13));
            let span = Span { slot: 0, first: 0, rows: len, start: 0 };
            check(&format!("{} heads, {len} positions", heads.queries), |isa| {
                let mut out = vec![0.0; len * out_width];
                let mut stats = vec![RowStat::default(); len * heads.queries];
                let attend = Attend {
                    heads,
                    layer: 0,
                    spans: &[span],
                    cache: &cache,
                    queries: &queries,
                    scale: 0.17,
                    scores: &mut Vec::new(),
                    out: &mut out,
                    stats: &mut stats,
                };
                let refused = attend.run(isa).map_or(-1.0, |row| row as f32);
                let dvalue_stride = heads.keys * heads.head_dim + 5;
                let (mut dheads, mut dvalues) = (vec![0.0; len * width], vec![0.0; len * dvalue_stride]);
                let backward = AttendBackward {
                    heads,
                    layer: 0,
                    slot: 0,
                    len,
                    cache: &cache,
                    queries: &queries,
                    out: &out,
                    stats: &stats,
                    dout: &dout,
                    scale: 0.17,
                    scratch: &mut BackwardScratch::default(),
                    dheads: &mut dheads,
                    dvalues: &mut dvalues,
                    dvalue_stride,
                    dvalue_offset: 5,
                };
                backward.run(isa);
                [out, dheads, dvalues, vec![refused]].concat()
            });
        }
    }
}
