//! What DPPO promises beyond its reference values; most are faults that other systems shipped.
#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests")]

use proptest::prelude::*;
use tadpole_gpu::dppo::{
    Deviation, Discard, Divergence, DppoError, DppoParams, RewardError, Row, Tally, TokenFault, Tokens,
    group_advantages, judge, token_gradients,
};
use tadpole_gpu::math::double;

fn rows(group: u64, raws: &[f64]) -> Vec<Row> {
    let row = |(member, &raw): (usize, &f64)| Row {
        group,
        member: member as u32,
        raw,
        shaped: raw,
        excluded: false,
    };
    raws.iter().enumerate().map(row).collect()
}

prop_compose! {
    /// Log-probabilities under both policies and an advantage.
    fn token()(new in -12.0..=0.0_f64, shift in -1.5..=1.5_f64, advantage in -3.0..=3.0_f64) -> (f64, f64, f64) {
        (new, (new + shift).min(0.0), advantage)
    }
}

/// New log-probability, rollout log-probability, advantage.
type Token = (f64, f64, f64);

fn columns(tokens: &[Token]) -> [Vec<f64>; 3] {
    let take: [fn(&Token) -> f64; 3] = [|token| token.0, |token| token.1, |token| token.2];
    take.map(|column| tokens.iter().map(column).collect())
}

fn single(columns: [Vec<f64>; 3]) -> [Vec<f32>; 3] {
    columns.map(|column| column.iter().map(|&value| value as f32).collect())
}

proptest! {
    #[test]
    fn the_gradient_is_the_slope_of_the_loss(tokens in prop::collection::vec(token(), 1..20), kl: bool) {
        let divergence = if kl { Divergence::Kl } else { Divergence::Tv };
        let params = DppoParams { divergence, ..DppoParams::default() };
        let [new, rollout, advantages] = columns(&tokens);
        let count = tokens.len() as u64;
        let found = token_gradients(&new, &rollout, &advantages, count, &params).unwrap();
        for index in 0..tokens.len() {
            let h = 1e-5;
            let at = |step: f64| {
                let mut moved = new.clone();
                moved[index] += step;
                token_gradients(&moved, &rollout, &advantages, count, &params)
            };
            let (Ok(above), Ok(below)) = (at(h), at(-h)) else { continue };
            // The mask is constant almost everywhere: skip a token that stands within a step of its threshold.
            if above.keep != below.keep {
                continue;
            }
            let slope = (above.loss - below.loss) / (2.0 * h);
            let tolerance = 1e-8 * found.grad[index].abs().max(1.0);
            prop_assert!((slope - found.grad[index]).abs() < tolerance, "{slope}, {}", found.grad[index]);
        }
    }

    #[test]
    fn micro_batches_change_no_bit(tokens in prop::collection::vec(token(), 1..40), cuts in prop::collection::vec(0..40_usize, 0..5)) {
        let params = DppoParams::default();
        let [new, rollout, advantages] = single(columns(&tokens));
        let count = tokens.len() as u64;
        let whole = Tokens { new_lp: &new, rollout_lp: &rollout, advantages: &advantages, mask: None };
        let mut once = Tally::default();
        let at_once = whole.gradients(count, &params, &mut once).unwrap();
        let mut bounds: Vec<usize> = cuts.into_iter().map(|cut| cut.min(tokens.len())).chain([0, tokens.len()]).collect();
        bounds.sort_unstable();
        let (mut in_parts, mut parts) = (Tally::default(), Vec::new());
        for window in bounds.windows(2) {
            let range = window[0]..window[1];
            let part = Tokens {
                new_lp: &new[range.clone()],
                rollout_lp: &rollout[range.clone()],
                advantages: &advantages[range],
                mask: None,
            };
            parts.extend(part.gradients(count, &params, &mut in_parts).unwrap().grad);
        }
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
        prop_assert_eq!(bits(&at_once.grad), bits(&parts));
        prop_assert_eq!(once, in_parts);
        prop_assert_eq!(once.loss(count), at_once.loss);
    }

    #[test]
    fn what_stands_under_the_mask_changes_nothing(
        tokens in prop::collection::vec((token(), any::<bool>()), 1..20),
        garbage in prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, 5.0, -30.0]),
    ) {
        let params = DppoParams::default();
        let trained: Vec<_> = tokens.iter().filter(|(_, trainable)| *trainable).map(|(token, _)| *token).collect();
        let count = trained.len() as u64;
        let [new, rollout, advantages] = single(columns(&trained));
        let alone = token_gradients(&new, &rollout, &advantages, count, &params).unwrap();
        let fill = |column: fn(&(f64, f64, f64)) -> f64| -> Vec<f32> {
            tokens.iter().map(|(token, trainable)| if *trainable { column(token) as f32 } else { garbage }).collect()
        };
        let (new, rollout, advantages) = (fill(|t| t.0), fill(|t| t.1), fill(|t| t.2));
        let mask: Vec<bool> = tokens.iter().map(|(_, trainable)| *trainable).collect();
        let batch = Tokens { new_lp: &new, rollout_lp: &rollout, advantages: &advantages, mask: Some(&mask) };
        let among = batch.gradients(count, &params, &mut Tally::default()).unwrap();
        prop_assert_eq!(among.loss.to_bits(), alone.loss.to_bits());
        let mut left = alone.grad.iter();
        for (index, &trainable) in mask.iter().enumerate() {
            let expected = if trainable { *left.next().unwrap() } else { 0.0 };
            prop_assert_eq!(among.grad[index].to_bits(), expected.to_bits());
            prop_assert!(trainable || !among.keep[index]);
        }
    }

    #[test]
    fn no_advantage_exceeds_what_a_sample_allows(raws in prop::collection::vec(0..=2_u8, 2..12), by: u8) {
        let raws: Vec<f64> = raws.into_iter().map(|raw| f64::from(raw) / 2.0).collect();
        let found = group_advantages(&rows(u64::from(by), &raws), Deviation::Sample).unwrap();
        let size = raws.len() as f64;
        for advantage in found.by_row.into_iter().flatten() {
            prop_assert!(advantage.abs() <= (size - 1.0) / size.sqrt());
        }
    }

    #[test]
    fn groups_are_formed_by_id_wherever_their_rows_stand(order in Just((0..13_usize).collect::<Vec<_>>()).prop_shuffle()) {
        let mut all = rows(3, &[1.0, 0.0, 1.0, 0.0, 0.0]);
        all.extend(rows(9, &[0.0, 0.0, 1.0, 0.0, 0.5, 0.0, 0.0, 1.0]));
        let straight = group_advantages(&all, Deviation::Sample).unwrap();
        let shuffled: Vec<Row> = order.iter().map(|&index| all[index]).collect();
        let found = group_advantages(&shuffled, Deviation::Sample).unwrap();
        for (place, &index) in order.iter().enumerate() {
            prop_assert_eq!(found.by_row[place], straight.by_row[index]);
        }
        prop_assert_eq!(found.baselines, straight.baselines);
    }
}

#[test]
fn an_excluded_row_is_no_part_of_the_baseline() {
    let mut all = rows(0, &[1.0, 0.0, 0.0, 1.0]);
    let without = group_advantages(&all, Deviation::Sample).unwrap();
    for reward in [100.0, f64::NAN] {
        all.truncate(4);
        all.push(Row { group: 0, member: 4, raw: reward, shaped: reward, excluded: true });
        let with = group_advantages(&all, Deviation::Sample).unwrap();
        assert_eq!(with.by_row[..4], without.by_row[..]);
        assert_eq!(with.by_row[4], None);
        assert_eq!(with.baselines, without.baselines);
    }
}

#[test]
fn excluded_rows_do_not_make_a_group_informative() {
    let mut all = rows(0, &[1.0, 1.0, 0.0]);
    all[2].excluded = true;
    let found = group_advantages(&all, Deviation::Sample).unwrap();
    assert_eq!(found.discarded[0].reason, Discard::AllEqual);
    for row in &mut all {
        row.excluded = true;
    }
    let found = group_advantages(&all, Deviation::Sample).unwrap();
    assert_eq!(found.discarded[0].reason, Discard::AllExcluded);
}

#[test]
fn rows_without_an_advantage_are_no_part_of_the_denominator() {
    // Three tokens a row; the second row is excluded (truncated, say): its tokens are not trainable.
    let mut all = rows(0, &[1.0, 0.5, 0.0]);
    all[1].excluded = true;
    let advantages = group_advantages(&all, Deviation::Sample).unwrap();
    let mask: Vec<bool> = advantages.by_row.iter().flat_map(|advantage| [advantage.is_some(); 3]).collect();
    let n_tokens = mask.iter().filter(|&&trainable| trainable).count() as u64;
    let column: Vec<f64> =
        advantages.by_row.iter().flat_map(|advantage| [advantage.unwrap_or(f64::NAN); 3]).collect();
    let lp = vec![-1.0; 9];
    let batch = Tokens { new_lp: &lp, rollout_lp: &lp, advantages: &column, mask: Some(&mask) };
    let found = batch.gradients(n_tokens, &DppoParams::default(), &mut Tally::default()).unwrap();
    assert_eq!(n_tokens, 6);
    assert_eq!(found.grad[0], -column[0] / 6.0);
}

#[test]
fn a_reward_that_is_no_number_is_refused_and_named() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut all = rows(5, &[1.0, 0.0, 0.0]);
        all[2].shaped = bad;
        let found = group_advantages(&all, Deviation::Sample);
        assert_eq!(found, Err(RewardError::NotFinite { group: 5, member: 2 }));
    }
}

#[test]
fn a_member_that_stands_twice_is_refused() {
    let mut all = rows(5, &[1.0, 0.0, 0.0]);
    all[2].member = 0;
    let found = group_advantages(&all, Deviation::Sample);
    assert_eq!(found, Err(RewardError::DuplicateMember { group: 5, member: 0 }));
}

#[test]
fn the_denominator_counts_the_whole_step_and_never_less_than_was_seen() {
    let lp = [-1.0_f32; 4];
    let advantages = [1.0_f32; 4];
    let params = DppoParams::default();
    let half = token_gradients(&lp, &lp, &advantages, 8, &params).unwrap();
    assert_eq!(half.grad, [-0.125; 4]);
    let refused = token_gradients(&lp, &lp, &advantages, 3, &params);
    assert_eq!(refused, Err(DppoError::TokenCount { found: 4, n_tokens: 3 }));
}

#[test]
fn a_refused_batch_leaves_the_tally_as_it_was() {
    let batch =
        Tokens { new_lp: &[-1.0, f64::NAN], rollout_lp: &[-1.0; 2], advantages: &[1.0; 2], mask: None };
    let mut tally = Tally { tokens: 3, ..Tally::default() };
    let found = batch.gradients(9, &DppoParams::default(), &mut tally);
    assert_eq!(found, Err(DppoError::Token { index: 1, fault: TokenFault::NewNan }));
    assert_eq!(tally, Tally { tokens: 3, ..Tally::default() });
}

#[test]
fn columns_of_unequal_length_and_senseless_thresholds_are_refused() {
    let found = token_gradients(&[-1.0], &[-1.0, -1.0], &[1.0], 1, &DppoParams::default());
    assert_eq!(found, Err(DppoError::Length { column: "rollout_lp", found: 2, expected: 1 }));
    for value in [f64::NAN, -0.1, f64::INFINITY] {
        let params = DppoParams { delta_high: value, ..DppoParams::default() };
        let found = token_gradients(&[-1.0], &[-1.0], &[1.0], 1, &params);
        assert!(matches!(found, Err(DppoError::Threshold { name: "delta_high", .. })), "{found:?}");
    }
}

#[test]
fn log_probabilities_above_zero_count_as_zero_up_to_the_slack_and_no_further() {
    let params = DppoParams::default();
    let judged = judge(1e-6_f64, 5e-7, 1.0, &params).unwrap();
    assert_eq!((judged.p, judged.q, judged.ratio), (1.0, 1.0, 1.0));
    assert_eq!(judge(1.1e-6_f64, 0.0, 1.0, &params), Err(TokenFault::NewPositive(1.1e-6)));
    assert_eq!(judge(0.0_f64, 0.5, 1.0, &params), Err(TokenFault::RolloutPositive(0.5)));
    assert_eq!(judge(f64::INFINITY, 0.0, 1.0, &params), Err(TokenFault::NewPositive(f64::INFINITY)));
    assert_eq!(judge(0.0, f64::NAN, 1.0, &params), Err(TokenFault::RolloutNan));
}

#[test]
fn a_ratio_or_gradient_that_overflows_is_refused() {
    let params = DppoParams::default();
    assert!(matches!(judge(-1.0_f32, -100.0, -1.0, &params), Err(TokenFault::Ratio(_))));
    assert_eq!(judge(-200.0_f32, -200.0, 1.0, &params), Err(TokenFault::RolloutZero(-200.0)));
    let found = token_gradients(&[-1.0_f32], &[-80.0], &[-1e30], 1, &params);
    assert_eq!(found, Err(DppoError::Token { index: 0, fault: TokenFault::Gradient }));
}

#[test]
fn a_token_that_has_become_impossible_contributes_exactly_nothing() {
    for divergence in [Divergence::Tv, Divergence::Kl] {
        let params = DppoParams { divergence, ..DppoParams::default() };
        for (rollout, advantage, keep) in
            [(-0.1, -1.0, false), (-0.1, 1.0, true), (-5.0, -1.0, divergence == Divergence::Tv)]
        {
            let found = token_gradients(&[f64::NEG_INFINITY], &[rollout], &[advantage], 1, &params).unwrap();
            assert_eq!(found.grad[0].to_bits(), 0, "{divergence:?} {rollout} {advantage}");
            assert_eq!((found.loss, found.kl_sum), (0.0, 0.0));
            assert_eq!(found.keep[0], keep, "{divergence:?} {rollout} {advantage}");
        }
    }
}

#[test]
fn binary_kl_takes_certain_tokens() {
    let params = DppoParams { divergence: Divergence::Kl, ..DppoParams::default() };
    assert!(judge(0.0_f32, 0.0, 1.0, &params).unwrap().keep);
    assert!(!judge(0.0_f32, -0.5, 1.0, &params).unwrap().keep);
    assert!(judge(0.0_f32, -0.5, -1.0, &params).unwrap().keep);
    assert!(!judge(-2.0_f32, 0.0, -1.0, &params).unwrap().keep);
}

#[test]
fn the_divergence_estimate_is_exact_for_small_and_large_ratios() {
    for shift in [-3.0, -0.6, -0.5, -0.3, -1e-3, -1e-7, 0.0, 1e-7, 1e-3, 0.3, 0.5, 0.6] {
        let found = token_gradients(&[-4.0 + shift], &[-4.0], &[1.0], 1, &DppoParams::default()).unwrap();
        let d: f64 = (-4.0 + shift) + 4.0;
        let expected = if d.abs() < 1e-2 { d * d / 2.0 + d * d * d / 6.0 } else { double::exp(d) - 1.0 - d };
        assert!(
            (found.kl_sum - expected).abs() <= 1e-15 + 1e-7 * expected,
            "{shift}: {} {expected}",
            found.kl_sum
        );
        assert_eq!(found.ratio_max, double::exp(d));
    }
}
