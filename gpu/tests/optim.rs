//! What the optimisers promise.
#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests")]

use proptest::prelude::*;
use tadpole_gpu::optim::{
    Algorithm, Average, Decay, MuonConfig, OptimError, Optimiser, OptimiserConfig, Schedule, StateError,
    gradient_norm, orthogonalise,
};
use tadpole_gpu::vector::Isa;
use tadpole_gpu::weights::{Role, TensorSpec};

fn spec(name: &str, rows: usize, cols: usize, role: Role) -> TensorSpec {
    TensorSpec { name: name.to_owned(), rows, cols, role }
}

/// A table, two matrices (wide and tall) and a gain: 5 x 4 + 4 x 20 + 20 x 4 + 4 values.
fn specs() -> Vec<TensorSpec> {
    vec![
        spec("table", 5, 4, Role::Embedding),
        spec("wide", 4, 20, Role::Matrix),
        spec("tall", 20, 4, Role::Matrix),
        spec("gain", 1, 4, Role::Norm),
    ]
}

const COUNT: usize = 184;
const GAIN: core::ops::Range<usize> = 180..184;

/// Numbers of `-1..1` that look random.
fn noise(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as i32 as f32 / i32::MAX as f32
    };
    (0..count).map(|_| next()).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn muon() -> OptimiserConfig {
    OptimiserConfig { algorithm: Algorithm::Muon, weight_decay: 0.01, ..OptimiserConfig::default() }
}

#[test]
fn adamw_follows_its_definition_in_double_precision() {
    let config = OptimiserConfig { weight_decay: 0.1, clip_norm: None, ..OptimiserConfig::default() };
    let mut optimiser = Optimiser::new(config, &specs()).unwrap();
    let mut values = noise(1, COUNT);
    let mut exact: Vec<[f64; 3]> = values.iter().map(|&value| [f64::from(value), 0.0, 0.0]).collect();
    let (rate, beta1, beta2) = (0.01, f64::from(config.beta1), f64::from(config.beta2));
    let (mut power1, mut power2) = (1.0, 1.0);
    for step in 0..20 {
        let gradients = noise(100 + step, COUNT);
        optimiser.step(&mut values, &gradients, 0.01, Isa::SCALAR).unwrap();
        power1 *= beta1;
        power2 *= beta2;
        for (index, ([value, first, second], gradient)) in exact.iter_mut().zip(gradients).enumerate() {
            let gradient = f64::from(gradient);
            *first = beta1 * *first + (1.0 - beta1) * gradient;
            *second = beta2 * *second + (1.0 - beta2) * gradient * gradient;
            let decay = if GAIN.contains(&index) { 0.0 } else { 0.1 };
            let direction = (*first / (1.0 - power1)) / ((*second / (1.0 - power2)).sqrt() + 1e-8);
            *value -= rate * decay * *value + rate * direction;
        }
    }
    for (value, [exact, ..]) in values.iter().zip(exact) {
        assert!((f64::from(*value) - exact).abs() < 2e-6, "{value} {exact}");
    }
    assert_eq!(optimiser.steps(), 20);
}

#[test]
fn muon_moves_matrices_along_orthogonal_directions_and_leaves_the_rest_to_adamw() {
    let run = |config| {
        let mut optimiser = Optimiser::new(config, &specs()).unwrap();
        let mut values = vec![0.0; COUNT];
        optimiser.step(&mut values, &noise(7, COUNT), 0.01, Isa::SCALAR).unwrap();
        values
    };
    let by_muon = run(muon());
    let by_adamw = run(OptimiserConfig { algorithm: Algorithm::AdamW, ..muon() });
    assert_eq!(by_muon[..20], by_adamw[..20]);
    assert_eq!(by_muon[GAIN], by_adamw[GAIN]);
    // Rows of the wide matrix: length about rate x ratio x sqrt(out / in), at right angles.
    let row = |index: usize| &by_muon[20 + 20 * index..][..20];
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let length = 0.01 * MuonConfig::default().rate_ratio * 5.0_f32.sqrt();
    for i in 0..4 {
        let relative = product(row(i), row(i)).sqrt() / length;
        assert!((0.7..1.25).contains(&relative), "{relative}");
        for j in 0..i {
            assert!(product(row(i), row(j)).abs() < 0.4 * length * length);
        }
    }
}

/// The definition of the orthogonalisation again, in plain loops; for matrices with no more rows than columns.
fn orthogonalise_by_loops(matrix: &[f32], [rows, cols]: [usize; 2], steps: u32) -> Vec<f32> {
    let accumulate =
        |a: &dyn Fn(usize, usize) -> f32, b: &dyn Fn(usize, usize) -> f32, inner, columns, c: &mut [f32]| {
            for i in 0..rows {
                for j in 0..columns {
                    for k in 0..inner {
                        c[i * columns + j] = a(i, k).mul_add(b(k, j), c[i * columns + j]);
                    }
                }
            }
        };
    let norm = gradient_norm([matrix].into_iter(), None).norm as f32 + 1e-7;
    let mut x: Vec<f32> = matrix.iter().map(|value| value / norm).collect();
    for _ in 0..steps {
        let at = |i: usize, j: usize| x[i * cols + j];
        let mut gram = vec![0.0; rows * rows];
        accumulate(&at, &|k, j| at(j, k), cols, rows, &mut gram);
        let square = |i: usize, j: usize| gram[i * rows + j];
        let mut polynomial: Vec<f32> = gram.iter().map(|value| -4.7750 * value).collect();
        accumulate(&|i, k| 2.0315 * square(i, k), &square, rows, rows, &mut polynomial);
        let mut next: Vec<f32> = x.iter().map(|value| 3.4445 * value).collect();
        accumulate(&|i, k| polynomial[i * rows + k], &at, rows, cols, &mut next);
        x = next;
    }
    x
}

proptest! {
    #[test]
    fn every_instruction_set_orthogonalises_as_the_definition_says(rows in 1..20_usize, more in 0..20_usize, seed: u32) {
        let size = [rows, rows + more];
        let matrix = noise(seed, size[0] * size[1]);
        let expected = bits(&orthogonalise_by_loops(&matrix, size, 5));
        for isa in Isa::available() {
            prop_assert_eq!(&bits(&orthogonalise(&matrix, size, 5, isa)), &expected, "{}", isa.name());
        }
    }
}

#[test]
fn a_tall_matrix_is_orthogonalised_as_its_transpose() {
    let (rows, cols) = (20, 6);
    let tall = noise(3, rows * cols);
    let wide: Vec<f32> = (0..rows * cols).map(|place| tall[place % rows * cols + place / rows]).collect();
    let from_tall = orthogonalise(&tall, [rows, cols], 5, Isa::SCALAR);
    let from_wide = orthogonalise(&wide, [cols, rows], 5, Isa::SCALAR);
    for (place, value) in from_wide.iter().enumerate() {
        let other = from_tall[place % rows * cols + place / rows];
        assert!((value - other).abs() < 1e-4, "{value} {other}");
    }
}

#[test]
fn a_matrix_of_zeros_stays_zero() {
    assert_eq!(orthogonalise(&[0.0; 12], [3, 4], 5, Isa::SCALAR), [0.0; 12]);
}

#[test]
fn a_large_gradient_is_brought_down_to_the_bound_and_a_small_one_left_alone() {
    let tensors: [&[f32]; 2] = [&[3.0, 0.0], &[4.0]];
    let norm = gradient_norm(tensors.into_iter(), Some(1.0));
    assert_eq!((norm.norm, norm.scale), (5.0, 0.2));
    assert_eq!(gradient_norm(tensors.into_iter(), Some(5.0)).scale, 1.0);
    assert_eq!(gradient_norm(tensors.into_iter(), None).scale, 1.0);
    let huge: [&[f32]; 1] = [&[f32::MAX; 40]];
    assert!(gradient_norm(huge.into_iter(), Some(1.0)).norm.is_finite());
}

#[test]
fn a_clipped_step_is_the_step_of_the_scaled_gradient() {
    let gradients: Vec<f32> = noise(5, COUNT).iter().map(|value| value * 1024.0).collect();
    let clipped = OptimiserConfig { clip_norm: Some(1.0), ..OptimiserConfig::default() };
    let mut optimiser = Optimiser::new(clipped, &specs()).unwrap();
    let mut values = noise(6, COUNT);
    let mut others = values.clone();
    let facts = optimiser.step(&mut values, &gradients, 0.01, Isa::SCALAR).unwrap();
    assert!(facts.gradient_norm > 1000.0 && facts.gradient_scale < 1e-3);
    let scaled: Vec<f32> = gradients.iter().map(|gradient| gradient * facts.gradient_scale).collect();
    let free = OptimiserConfig { clip_norm: None, ..OptimiserConfig::default() };
    Optimiser::new(free, &specs()).unwrap().step(&mut others, &scaled, 0.01, Isa::SCALAR).unwrap();
    assert_eq!(bits(&values), bits(&others));
}

#[test]
fn a_restored_optimiser_continues_with_the_same_bits() {
    for config in [muon(), OptimiserConfig::default()] {
        let mut straight = Optimiser::new(config, &specs()).unwrap();
        let mut values = noise(1, COUNT);
        let mut resumed = None;
        for step in 0..10 {
            if step == 5 {
                let mut optimiser = Optimiser::new(config, &specs()).unwrap();
                optimiser.restore(&straight.state_bytes()).unwrap();
                assert_eq!(optimiser.state_bytes(), straight.state_bytes());
                resumed = Some((optimiser, values.clone()));
            }
            let gradients = noise(50 + step, COUNT);
            straight.step(&mut values, &gradients, 0.003, Isa::SCALAR).unwrap();
            if let Some((optimiser, values)) = &mut resumed {
                optimiser.step(values, &gradients, 0.003, Isa::SCALAR).unwrap();
            }
        }
        let (optimiser, resumed) = resumed.unwrap();
        assert_eq!(bits(&resumed), bits(&values));
        assert_eq!(optimiser.state_bytes(), straight.state_bytes());
    }
}

#[test]
fn a_reset_optimiser_is_as_a_fresh_one() {
    let fresh = Optimiser::new(muon(), &specs()).unwrap();
    let mut used = fresh.clone();
    used.step(&mut noise(1, COUNT), &noise(2, COUNT), 0.01, Isa::SCALAR).unwrap();
    assert_ne!(used.state_bytes(), fresh.state_bytes());
    used.reset();
    assert_eq!(used.state_bytes(), fresh.state_bytes());
}

#[test]
fn a_state_that_does_not_fit_is_refused_and_changes_nothing() {
    let mut optimiser = Optimiser::new(muon(), &specs()).unwrap();
    optimiser.step(&mut noise(1, COUNT), &noise(2, COUNT), 0.01, Isa::SCALAR).unwrap();
    let bytes = optimiser.state_bytes();
    for length in 0..bytes.len() {
        assert!(optimiser.restore(&bytes[..length]).is_err(), "{length}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(optimiser.restore(&longer), Err(StateError::Long(1)));
    let other = Optimiser::new(OptimiserConfig::default(), &specs()).unwrap().state_bytes();
    assert!(matches!(optimiser.restore(&other), Err(StateError::Length { .. })));
    for (place, forged) in [(40, f32::NAN.to_bits()), (bytes.len() - 4, (-1.0_f32).to_bits())] {
        let mut bytes = bytes.clone();
        bytes[place..place + 4].copy_from_slice(&forged.to_le_bytes());
        assert_eq!(optimiser.restore(&bytes), Err(StateError::Value));
    }
    let mut newer = bytes.clone();
    newer[7] += 1;
    assert_eq!(optimiser.restore(&newer), Err(StateError::Magic));
    assert_eq!(optimiser.state_bytes(), bytes);
}

#[test]
fn a_step_that_makes_no_sense_is_refused_and_changes_nothing() {
    let mut optimiser = Optimiser::new(muon(), &specs()).unwrap();
    let before = optimiser.state_bytes();
    let mut values = noise(1, COUNT);
    let mut gradients = noise(2, COUNT);
    for bad in [f32::NAN, f32::INFINITY] {
        gradients[23] = bad;
        let found = optimiser.step(&mut values, &gradients, 0.01, Isa::SCALAR);
        assert_eq!(found, Err(OptimError::Gradient { tensor: "wide".to_owned(), index: 3 }));
    }
    let found = optimiser.step(&mut values, &gradients[1..], 0.01, Isa::SCALAR);
    assert_eq!(found, Err(OptimError::Length { what: "gradients", found: COUNT - 1, expected: COUNT }));
    for rate in [-1.0, f32::NAN, f32::INFINITY] {
        let found = optimiser.step(&mut values, &noise(2, COUNT), rate, Isa::SCALAR);
        assert!(matches!(found, Err(OptimError::LearningRate(_))));
    }
    assert_eq!(optimiser.state_bytes(), before);
    assert_eq!(bits(&values), bits(&noise(1, COUNT)));
    let found = optimiser.step(&mut values, &noise(2, COUNT), f32::MAX, Isa::SCALAR);
    assert!(matches!(found, Err(OptimError::Value { .. })), "{found:?}");
}

#[test]
fn numbers_outside_their_range_are_refused_by_name() {
    let refused = |config: OptimiserConfig| config.check().unwrap_err().name;
    let fine = OptimiserConfig::default();
    assert!(fine.check().is_ok());
    assert_eq!(refused(OptimiserConfig { beta1: 1.0, ..fine }), "beta1");
    assert_eq!(refused(OptimiserConfig { beta2: f32::NAN, ..fine }), "beta2");
    assert_eq!(refused(OptimiserConfig { epsilon: 0.0, ..fine }), "epsilon");
    assert_eq!(refused(OptimiserConfig { weight_decay: -0.1, ..fine }), "weight_decay");
    assert_eq!(refused(OptimiserConfig { clip_norm: Some(0.0), ..fine }), "clip_norm");
    let with = |muon| OptimiserConfig { muon, ..fine };
    assert_eq!(refused(with(MuonConfig { momentum: 1.5, ..fine.muon })), "muon.momentum");
    assert_eq!(refused(with(MuonConfig { newton_steps: 0, ..fine.muon })), "muon.newton_steps");
    assert_eq!(refused(with(MuonConfig { rate_ratio: 0.0, ..fine.muon })), "muon.rate_ratio");
}

#[test]
fn a_schedule_warms_up_and_then_decays_to_its_floor() {
    let factors = |schedule: Schedule, steps: core::ops::Range<u64>| {
        steps.map(|step| schedule.factor(step)).collect::<Vec<_>>()
    };
    assert_eq!(factors(Schedule::default(), 0..3), [1.0; 3]);
    let warm = Schedule { warmup: 4, decay: Decay::Constant };
    assert_eq!(factors(warm, 0..6), [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]);
    let linear = Schedule { warmup: 2, decay: Decay::Linear { steps: 6, floor: 0.2 } };
    assert_eq!(factors(linear, 0..8), [0.5, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2, 0.2]);
    let cosine = Schedule { warmup: 0, decay: Decay::Cosine { steps: 8, floor: 0.0 } };
    let found = factors(cosine, 0..9);
    assert_eq!((found[0], found[8]), (1.0, 0.0));
    assert!((found[4] - 0.5).abs() < 1e-7);
    assert!(found.is_sorted_by(|a, b| a > b));
    let never = Schedule { warmup: 5, decay: Decay::Linear { steps: 3, floor: 0.5 } };
    assert_eq!(factors(never, 4..6), [1.0, 0.5]);
}

#[test]
fn an_average_is_the_mean_of_the_values_from_its_start_on() {
    let mut average = Average::new(3, 2);
    for update in 1..=2 {
        average.observe(&[update as f32 * 100.0; 2]).unwrap();
        assert_eq!(average.mean(), None);
    }
    for values in [[1.0, -8.0], [2.0, 0.0], [6.0, 2.0]] {
        average.observe(&values).unwrap();
    }
    assert_eq!((average.mean(), average.count()), (Some([3.0, -2.0].as_slice()), 3));
    let mut restored = Average::new(3, 2);
    restored.restore(&average.state_bytes()).unwrap();
    assert_eq!(restored, average);
    assert!(Average::new(3, 3).restore(&average.state_bytes()).is_err());
    assert!(average.observe(&[1.0]).is_err());
    average.reset();
    assert_eq!(average, Average::new(3, 2));
}

#[test]
fn an_average_of_equal_values_is_that_value_bit_by_bit() {
    let values = noise(9, 50);
    let mut average = Average::new(1, 50);
    for _ in 0..7 {
        average.observe(&values).unwrap();
    }
    assert_eq!(bits(average.mean().unwrap()), bits(&values));
}
