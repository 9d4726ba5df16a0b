use super::device::{Device, Failure, holds};
use super::values::{plain, wild};
use crate::kernels::{AdamW, Average, Clip, FirstNotFinite, Squares};
use crate::optim::{Average as ReferenceAverage, Optimiser, OptimiserConfig, gradient_norm};
use crate::vector::Isa;
use crate::weights::{Role, TensorSpec};

/// Tensors as a model has them, sizes multiples of sixteen; one larger than a tile of squares.
fn specs() -> Vec<TensorSpec> {
    let sizes =
        [(23, 32, Role::Embedding), (1, 16, Role::Norm), (40, 112, Role::Matrix), (1, 48, Role::Norm)];
    let spec = |(index, (rows, cols, role)): (usize, (usize, usize, Role))| TensorSpec {
        name: format!("tensor {index}"),
        rows,
        cols,
        role,
    };
    sizes.into_iter().enumerate().map(spec).collect()
}

fn starts(specs: &[TensorSpec]) -> Vec<u64> {
    let mut starts = vec![0];
    for spec in specs {
        starts.push(starts.last().unwrap() + spec.len() as u64);
    }
    starts
}

/// The norm and the factor, computed on the device.
fn clip(device: &mut Device<'_>, gradients: &[f32], starts: &[u64], bound: f32) -> Result<Clip, Failure> {
    let tensors = starts.len() as u32 - 1;
    let sums = device.put(&vec![0.0_f64; starts.len() - 1]);
    let (values, starts) = (device.put(gradients), device.put(starts));
    device.run(&Squares { values, starts, tensors, sums })?;
    let launch = Clip { sums, tensors, bound, norm: device.put(&[0.0_f64]), scale: device.put(&[0.0_f32]) };
    device.run(&launch)?;
    Ok(launch)
}

pub(super) fn norm(device: &mut Device<'_>) -> Result<(), Failure> {
    // Tensors that are empty, smaller than the lanes, as large as a tile and larger.
    let starts = [0_u64, 0, 5, 21, 4117, 4117, 12_400];
    for values in [plain, wild] {
        let gradients = values(12_400, 1);
        for bound in [None, Some(1.0e-3), Some(1.0e38_f32)] {
            let tensors = starts.windows(2).map(|pair| &gradients[pair[0] as usize..pair[1] as usize]);
            let expected = gradient_norm(tensors, bound);
            let launch = clip(device, &gradients, &starts, bound.unwrap_or(f32::INFINITY))?;
            device.expect("norm", launch.norm, &[expected.norm])?;
            device.expect("scale", launch.scale, &[expected.scale])?;
        }
    }
    Ok(())
}

#[test]
fn the_gradients_norm_and_what_clips_it_have_the_bits_of_the_reference() {
    holds(norm);
}

/// The numbers of a step as the optimiser computes them on the host.
struct Step {
    config: OptimiserConfig,
    rate: f32,
    powers: [f64; 2],
}

impl Step {
    fn launch(
        &self,
        device: &mut Device<'_>,
        specs: &[TensorSpec],
        gradients: &[f32],
        state: &State,
    ) -> Result<AdamW, Failure> {
        let bound = self.config.clip_norm.unwrap_or(f32::INFINITY);
        let clip = clip(device, gradients, &starts(specs), bound)?;
        let decays: Vec<u8> = specs
            .iter()
            .flat_map(|spec| std::iter::repeat_n(u8::from(spec.role != Role::Norm), spec.len() / 16))
            .collect();
        Ok(AdamW {
            values: device.put(&state.values),
            gradients: device.put(gradients),
            first: device.put(&state.first),
            second: device.put(&state.second),
            decays: device.put(&decays),
            count: state.values.len() as u64,
            scale: clip.scale,
            decay: 1.0 - self.rate * self.config.weight_decay,
            beta1: self.config.beta1,
            beta2: self.config.beta2,
            step_size: (f64::from(self.rate) / (1.0 - self.powers[0])) as f32,
            root_correction: (1.0 - self.powers[1]).sqrt() as f32,
            epsilon: self.config.epsilon,
            halt: device.put(&[0_u32]),
        })
    }
}

/// Values and moments between steps, read back from the device.
struct State {
    values: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
}

pub(super) fn adamw(device: &mut Device<'_>) -> Result<(), Failure> {
    let specs = specs();
    let count = *starts(&specs).last().unwrap() as usize;
    for (weight_decay, clip_norm) in [(0.0, None), (0.1, Some(0.5))] {
        let config = OptimiserConfig { weight_decay, clip_norm, ..OptimiserConfig::default() };
        let mut optimiser = Optimiser::new(config, &specs).unwrap();
        let mut state = State { values: plain(count, 1), first: vec![0.0; count], second: vec![0.0; count] };
        let mut expected = state.values.clone();
        let mut powers = [1.0, 1.0];
        for step in 0..3 {
            let rate = 1.0e-2 / (1.0 + step as f32);
            let gradients: Vec<f32> = wild(count, 10 + step).iter().map(|x| x.clamp(-9.0, 9.0)).collect();
            optimiser.step(&mut expected, &gradients, rate, Isa::SCALAR).unwrap();
            powers = [powers[0] * f64::from(config.beta1), powers[1] * f64::from(config.beta2)];
            let launch = Step { config, rate, powers }.launch(device, &specs, &gradients, &state)?;
            device.run(&launch)?;
            device.expect("values", launch.values, &expected)?;
            state = State {
                values: device.read(launch.values),
                first: device.read(launch.first),
                second: device.read(launch.second),
            };
        }
        let moments: Vec<u8> =
            [&state.first, &state.second].into_iter().flat_map(|moments| moment_bytes(moments)).collect();
        assert!(optimiser.state_bytes().ends_with(&moments));
    }
    Ok(())
}

/// As the optimiser saves them: their number, then the values.
fn moment_bytes(moments: &[f32]) -> Vec<u8> {
    let mut bytes = (moments.len() as u64).to_le_bytes().to_vec();
    bytes.extend(moments.iter().flat_map(|moment| moment.to_le_bytes()));
    bytes
}

#[test]
fn steps_of_adamw_have_the_bits_of_the_optimiser() {
    holds(adamw);
}

#[test]
fn means_of_weights_have_the_bits_of_the_reference() {
    holds(|device| {
        let len = 300;
        let mut reference = ReferenceAverage::new(1, len);
        let (mean, halt) = (device.put(&vec![0.0_f32; len]), device.put(&[0_u32]));
        for step in 1..=4 {
            let values = wild(len, step);
            reference.observe(&values).unwrap();
            let values = device.put(&values);
            device.run(&Average { values, mean, count: len as u64, steps: step as f32, halt })?;
        }
        device.expect("mean", mean, reference.mean().unwrap())
    });
}

#[test]
fn what_is_not_finite_is_found_and_then_no_step_changes_anything() {
    holds(|device| {
        let specs = specs();
        let count = *starts(&specs).last().unwrap() as usize;
        let mut gradients = plain(count, 1);
        (gradients[700], gradients[4000]) = (f32::NEG_INFINITY, f32::NAN);
        let state = State { values: plain(count, 2), first: plain(count, 3), second: vec![0.5; count] };
        let step = Step { config: OptimiserConfig::default(), rate: 0.01, powers: [0.9, 0.95] };
        let launch = step.launch(device, &specs, &gradients, &state)?;
        let (halt, place, count) = (launch.halt, device.put(&[u64::MAX]), launch.count);
        device.run(&FirstNotFinite { values: launch.values, count, place, halt })?;
        device.expect("place", place, &[u64::MAX])?;
        device.run(&FirstNotFinite { values: launch.gradients, count, place, halt })?;
        device.expect("place", place, &[700_u64])?;
        device.run(&launch)?;
        let mean = device.put(&state.first);
        device.run(&Average { values: launch.values, mean, count, steps: 2.0, halt })?;
        device.expect("values", launch.values, &state.values)?;
        device.expect("first", launch.first, &state.first)?;
        device.expect("second", launch.second, &state.second)?;
        device.expect("mean", mean, &state.first)
    });
}
