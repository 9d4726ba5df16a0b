//! The reference values of the recipe: masks and gradients of DPPO, advantages, length penalty.
#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests")]

mod oracle;

use oracle::{cases, flags, flat, number, numbers};
use serde_json::Value;
use tadpole_gpu::dppo::{
    Deviation, Discard, Divergence, DppoError, DppoParams, LengthPenalty, Real, Row, Tally, TokenFault,
    TokenGradients, Tokens, group_advantages, judge, normalise,
};
use tadpole_gpu::math::double;

/// A case's columns and parameters.
struct Case {
    name: String,
    new_lp: Vec<f64>,
    rollout_lp: Vec<f64>,
    advantages: Vec<f64>,
    mask: Vec<bool>,
    params: DppoParams,
}

impl Case {
    fn read(case: &Value, divergence: Divergence) -> Self {
        let input = &case["input"];
        let delta = |name: &str| case.get(name).map_or(0.2, number);
        Self {
            name: case["name"].as_str().or(case["kind"].as_str()).unwrap().to_owned(),
            new_lp: flat(&input["new_logprobs"]),
            rollout_lp: flat(&input["rollout_logprobs"]),
            advantages: flat(&input["advantages"]),
            mask: flags(&input["loss_mask"]),
            params: DppoParams { delta_low: delta("delta_low"), delta_high: delta("delta_high"), divergence },
        }
    }

    fn n_tokens(&self) -> u64 {
        self.mask.iter().filter(|&&trainable| trainable).count() as u64
    }

    fn gradients<T: Real>(&self) -> Result<TokenGradients<T>, DppoError> {
        let cast = |values: &[f64]| values.iter().map(|&value| T::from_double(value)).collect::<Vec<T>>();
        let tokens = Tokens {
            new_lp: &cast(&self.new_lp),
            rollout_lp: &cast(&self.rollout_lp),
            advantages: &cast(&self.advantages),
            mask: Some(&self.mask),
        };
        tokens.gradients(self.n_tokens(), &self.params, &mut Tally::default())
    }

    /// Whether a token's movement is within single-precision rounding of its threshold.
    fn at_the_boundary(&self, index: usize) -> bool {
        let moved = double::exp(self.new_lp[index]) - double::exp(self.rollout_lp[index]);
        let near = |threshold: f64| (moved.abs() - threshold).abs() < 3e-7;
        near(self.params.delta_high) || near(self.params.delta_low)
    }
}

fn close(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * expected.abs().max(1.0)
}

#[test]
fn double_precision_has_every_mask_and_gradient_of_the_reference() {
    let oracle = oracle::load();
    for case in cases(&oracle, "token_cases") {
        let expected = &case["expected"];
        let case = Case::read(case, Divergence::Tv);
        let found = case.gradients::<f64>().unwrap();
        assert_eq!(found.keep, masked(&flags(&expected["keep"]), &case.mask), "{}", case.name);
        assert_eq!(case.n_tokens() as f64, number(&expected["n_tokens"]), "{}", case.name);
        let kept = found.keep.iter().filter(|&&keep| keep).count();
        assert_eq!(kept as f64, number(&expected["n_kept"]), "{}", case.name);
        assert!(close(found.loss, number(&expected["loss"]), 1e-14), "{}: {}", case.name, found.loss);
        for (index, (&found, expected)) in found.grad.iter().zip(flat(&expected["grad"])).enumerate() {
            let context = format!("{}, token {index}: {found}, expected {expected}", case.name);
            assert!(close(found, expected, 4e-16), "{context}");
        }
    }
}

/// The reference marks some masked tokens as kept: they are no part of the loss either way.
fn masked(keep: &[bool], mask: &[bool]) -> Vec<bool> {
    keep.iter().zip(mask).map(|(&keep, &trainable)| keep && trainable).collect()
}

#[test]
fn double_precision_has_every_probability_and_ratio_of_the_reference() {
    let oracle = oracle::load();
    for case in cases(&oracle, "token_cases") {
        let expected = &case["expected"];
        let [p, q, ratio] = ["p", "q", "rho"].map(|name| flat(&expected[name]));
        let case = Case::read(case, Divergence::Tv);
        for index in (0..case.mask.len()).filter(|&index| case.mask[index]) {
            let (new_lp, rollout_lp) = (case.new_lp[index], case.rollout_lp[index]);
            let found = judge(new_lp, rollout_lp, case.advantages[index], &case.params).unwrap();
            assert_eq!((found.p, found.q), (p[index], q[index]), "{}, token {index}", case.name);
            assert_eq!(found.ratio, ratio[index], "{}, token {index}", case.name);
        }
    }
}

#[test]
fn single_precision_differs_from_the_reference_only_at_the_boundary() {
    let oracle = oracle::load();
    for case in cases(&oracle, "token_cases") {
        let sensitive = case["boundary_sensitive"].as_bool().unwrap();
        let expected = &case["expected"];
        let case = Case::read(case, Divergence::Tv);
        let found = case.gradients::<f32>().unwrap();
        let keep = masked(&flags(&expected["keep"]), &case.mask);
        for (index, expected) in flat(&expected["grad"]).into_iter().enumerate() {
            if sensitive && case.at_the_boundary(index) {
                continue;
            }
            assert_eq!(found.keep[index], keep[index], "{}, token {index}", case.name);
            let gradient = f64::from(found.grad[index]);
            assert!(close(gradient, expected, 1e-5), "{}, token {index}: {gradient}, {expected}", case.name);
        }
    }
}

#[test]
fn binary_kl_has_the_masks_and_gradients_of_the_reference() {
    let oracle = oracle::load();
    let case = cases(&oracle, "variant_cases").iter().find(|case| case["kind"] == "binary_kl").unwrap();
    let expected = &case["expected_trl_1_8_0"];
    let case = Case::read(case, Divergence::Kl);
    let double = case.gradients::<f64>().unwrap();
    let single = case.gradients::<f32>().unwrap();
    assert_eq!(double.keep, flags(&expected["keep"]));
    assert_eq!(single.keep, double.keep);
    for (index, expected) in flat(&expected["grad"]).into_iter().enumerate() {
        assert!(close(double.grad[index], expected, 4e-16), "token {index}");
        assert!(close(f64::from(single.grad[index]), expected, 1e-6), "token {index}");
    }
}

/// What must become of each case that holds something not finite.
fn check_not_finite<T: Real + core::fmt::Debug>() {
    let oracle = oracle::load();
    for case in cases(&oracle, "nonfinite_cases") {
        let case = Case::read(case, Divergence::Tv);
        let found = case.gradients::<T>();
        let fault = match &found {
            Err(DppoError::Token { index: 0, fault }) => Some(*fault),
            Err(other) => panic!("{}: {other}", case.name),
            Ok(_) => None,
        };
        let expected = match case.name.as_str() {
            "new_logprob_minus_inf" | "positive_logprob" | "nan_under_mask0" => None,
            "rollout_logprob_minus_inf" => Some(TokenFault::RolloutZero(f64::NEG_INFINITY)),
            "nan_new_logprob" => Some(TokenFault::NewNan),
            "nan_advantage" => Some(TokenFault::Advantage),
            other => panic!("no expectation for {other}"),
        };
        assert_eq!(fault, expected, "{}", case.name);
        if let Ok(found) = found {
            assert!(found.loss.is_finite() && found.kl_sum.is_finite(), "{}", case.name);
            assert!(found.grad.iter().all(|gradient| gradient.is_finite()), "{}", case.name);
            let counts = case.name == "positive_logprob";
            assert_eq!(found.grad[0].to_double() != 0.0, counts, "{}", case.name);
        }
    }
}

#[test]
fn what_is_not_finite_is_refused_or_has_no_effect() {
    check_not_finite::<f32>();
    check_not_finite::<f64>();
}

#[test]
fn advantages_are_those_of_the_reference() {
    let oracle = oracle::load();
    for case in cases(&oracle, "advantage_cases") {
        let name = case["name"].as_str().unwrap();
        let rewards = numbers(&case["rewards"]);
        let kinds = [(Deviation::Sample, "sample"), (Deviation::Population, "population")];
        for (deviation, kind) in kinds {
            let row = |(member, &reward): (usize, &f64)| Row {
                group: 7,
                member: member as u32,
                raw: reward,
                shaped: reward,
                excluded: false,
            };
            let rows: Vec<Row> = rewards.iter().enumerate().map(row).collect();
            let found = group_advantages(&rows, deviation).unwrap();
            if case["all_equal"] == true {
                assert!(found.by_row.iter().all(Option::is_none), "{name}");
                assert_eq!(found.discarded[0].reason, Discard::AllEqual, "{name}");
                continue;
            }
            let baseline = found.baselines[&7];
            assert!(close(baseline.mean, number(&case["mean"]), 1e-15), "{name}");
            assert!(close(baseline.std, number(&case[format!("std_{kind}")]), 1e-12), "{name}");
            let expected = numbers(&case[format!("adv_{kind}_eps1e-6")]);
            for (found, expected) in found.by_row.iter().zip(expected) {
                // A spread of 1e-4 around 1 is known to 12 digits only.
                let found = found.unwrap();
                assert!(close(found, expected, 1e-10), "{name}, {kind}: {found}, expected {expected}");
            }
        }
    }
}

#[test]
fn a_solved_group_is_discarded_however_its_lengths_differ() {
    let oracle = oracle::load();
    for name in ["all_success_with_length_penalty", "all_success_one_token_over_budget"] {
        let case = cases(&oracle, "advantage_cases").iter().find(|case| case["name"] == name).unwrap();
        let rewards = numbers(&case["rewards"]);
        let row = |(member, &shaped): (usize, &f64)| Row {
            group: 0,
            member: member as u32,
            raw: 1.0,
            shaped,
            excluded: false,
        };
        let rows: Vec<Row> = rewards.iter().enumerate().map(row).collect();
        let found = group_advantages(&rows, Deviation::Sample).unwrap();
        assert_eq!(found.by_row, vec![None; rows.len()]);
        assert!(normalise(&rewards, Deviation::Sample).0.std > 0.0);
    }
}

#[test]
fn the_length_penalty_is_that_of_the_reference() {
    let oracle = oracle::load();
    for case in cases(&oracle, "length_penalty_cases") {
        let whole = |name: &str| case[name].as_u64().unwrap();
        let penalty = LengthPenalty { alpha: number(&case["alpha"]), free_tokens: whole("N") };
        let found = penalty.success_reward(whole("n"));
        assert!(close(found, number(&case["R"]), 2e-16), "{case}: {found}");
    }
}
