use super::device::{Device, holds};
use super::values::plain;
use crate::dppo::{Divergence, DppoParams, Tally, Tokens, token_gradients};
use crate::kernels::{Address, ObjectiveCode, TokenGradient};
use core::f32::consts::LN_2;

/// Tokens side by side.
struct Columns {
    log_probs: Vec<f32>,
    rollout: Vec<f32>,
    advantages: Vec<f32>,
    weights: Vec<f32>,
}

impl Columns {
    /// Tokens of all kinds that can be trained on: near both thresholds, equal, impossible now, log-probabilities that
    /// rounding put above 0, advantages of 0.
    fn new(len: usize) -> Self {
        let mut columns = Self {
            log_probs: plain(len, 1).iter().map(|x| 1.5 * x - 1.5).collect(),
            rollout: plain(len, 2).iter().map(|x| 1.5 * x - 1.5).collect(),
            advantages: plain(len, 3),
            weights: plain(len, 4).iter().map(|x| x.abs()).collect(),
        };
        for i in 0..len {
            match i % 11 {
                0 => columns.log_probs[i] = columns.rollout[i],
                1 => columns.log_probs[i] = f32::NEG_INFINITY,
                2 => columns.log_probs[i] = 5.0e-7,
                3 => columns.rollout[i] = 1.0e-7,
                4 => columns.advantages[i] = -0.0,
                5 => columns.weights[i] = 1.0,
                6 => columns.rollout[i] = -80.0,
                // p = q + 0.2 and p = q - 0.2, more or less.
                7 => (columns.log_probs[i], columns.rollout[i]) = (-0.356_675, -LN_2),
                8 => (columns.rollout[i], columns.log_probs[i]) = (-0.356_675, -LN_2),
                _ => {}
            }
        }
        columns
    }

    fn launch(
        &self,
        device: &mut Device<'_>,
        objective: ObjectiveCode,
        params: &DppoParams,
    ) -> TokenGradient {
        let count = self.log_probs.len();
        TokenGradient {
            log_probs: device.put(&self.log_probs),
            rollout_log_probs: device.put(&self.rollout),
            advantages: device.put(&self.advantages),
            weights: device.put(&self.weights),
            count: count as u32,
            objective: objective as u32,
            divisor: 1000.0,
            delta_low: params.delta_low as f32,
            delta_high: params.delta_high as f32,
            gradients: device.room(count),
            keep: device.put(&vec![7_u32; count]),
            halt: device.put(&[0_u32]),
        }
    }
}

fn params(divergence: Divergence) -> DppoParams {
    DppoParams { divergence, delta_low: 0.15, ..DppoParams::default() }
}

#[test]
fn tokens_are_kept_and_weighed_as_by_the_rules_of_dppo() {
    holds(|device| {
        let objectives = [(Divergence::Tv, ObjectiveCode::DppoTv), (Divergence::Kl, ObjectiveCode::DppoKl)];
        for (divergence, objective) in objectives {
            for len in [0, 1, 127, 1000] {
                let (columns, params) = (Columns::new(len), params(divergence));
                let tokens = Tokens {
                    new_lp: &columns.log_probs,
                    rollout_lp: &columns.rollout,
                    advantages: &columns.advantages,
                    mask: None,
                };
                let found = tokens.gradients(1000, &params, &mut Tally::default()).unwrap();
                let gradients: Vec<f32> = found
                    .grad
                    .iter()
                    .zip(&columns.weights)
                    .map(|(gradient, weight)| gradient * weight)
                    .collect();
                let keep: Vec<u32> = found.keep.iter().map(|&keep| u32::from(keep)).collect();
                if len == 1000 {
                    assert!(keep.contains(&0) && keep.contains(&1));
                }
                let launch = columns.launch(device, objective, &params);
                device.run(&launch)?;
                device.expect("gradients", launch.gradients, &gradients)?;
                device.expect("keep", launch.keep, &keep)?;
                device.expect("halt", launch.halt, &[0_u32])?;
            }
        }
        Ok(())
    });
}

#[test]
fn cross_entropy_keeps_every_token_and_looks_at_its_weight_alone() {
    holds(|device| {
        let columns = Columns::new(300);
        let gradients: Vec<f32> = columns.weights.iter().map(|weight| -(weight / 1000.0)).collect();
        let mut launch = columns.launch(device, ObjectiveCode::CrossEntropy, &DppoParams::default());
        (launch.rollout_log_probs, launch.advantages) = (Address(0), Address(0));
        device.run(&launch)?;
        device.expect("gradients", launch.gradients, &gradients)?;
        device.expect("keep", launch.keep, &[1_u32; 300])?;
        device.expect("halt", launch.halt, &[0_u32])
    });
}

/// New log-probability, rollout log-probability and advantage that cannot be trained on.
const REFUSED: [[f32; 3]; 12] = [
    [f32::NAN, -1.0, 1.0],
    [-1.0, f32::NAN, 1.0],
    [-1.0, -1.0, f32::NAN],
    [-1.0, -1.0, f32::INFINITY],
    [-1.0, -1.0, f32::NEG_INFINITY],
    [2.0e-6, -1.0, 1.0],
    [-1.0, 2.0e-6, 1.0],
    [f32::INFINITY, -1.0, 1.0],
    [-1.0, f32::NEG_INFINITY, 1.0],
    [-1.0, -120.0, 1.0],
    [-0.1, -99.0, -1.0],
    [-0.1, -80.0, -1.0e30],
];

#[test]
fn a_token_that_the_rules_refuse_halts_the_step() {
    holds(|device| {
        let objectives = [(Divergence::Tv, ObjectiveCode::DppoTv), (Divergence::Kl, ObjectiveCode::DppoKl)];
        for (divergence, objective) in objectives {
            let params = params(divergence);
            for [log_prob, rollout, advantage] in REFUSED {
                let found = token_gradients(&[log_prob], &[rollout], &[advantage], 1000, &params);
                assert!(found.is_err(), "{log_prob} {rollout} {advantage}");
                let mut columns = Columns::new(40);
                columns.log_probs[33] = log_prob;
                columns.rollout[33] = rollout;
                columns.advantages[33] = advantage;
                let launch = columns.launch(device, objective, &params);
                device.run(&launch)?;
                device.expect("halt", launch.halt, &[1_u32])?;
            }
        }
        Ok(())
    });
}
