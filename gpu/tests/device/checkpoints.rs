//! bf16: the documented rounding, on processor and device.

use tadpole_gpu::weights::{Precision, Weights};

use crate::sample::{SHAPE, on_device, weights};

/// The upper half of an f32, rounded to nearest, ties to even: written out, as the definition.
fn rounded(value: f32) -> u16 {
    let bits = value.to_bits();
    let (upper, lower) = ((bits >> 16) as u16, bits & 0xffff);
    let up = lower > 0x8000 || (lower == 0x8000 && upper % 2 == 1);
    upper + u16::from(up)
}

/// Every upper half with the lower halves at which rounding changes; infinities included, NaN left out.
fn values() -> Vec<f32> {
    let lower = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
    let all =
        (0..=u16::MAX).flat_map(|upper| lower.map(|lower| f32::from_bits(u32::from(upper) << 16 | lower)));
    all.filter(|value| !value.is_nan()).collect()
}

#[test]
fn rounding_is_the_documented_one_on_processor_and_device() {
    on_device("checkpoints::rounding_is_the_documented_one_on_processor_and_device", |device| {
        let values = values();
        let there = device.to_bf16(&values).unwrap();
        for (value, there) in values.iter().zip(&there) {
            assert_eq!(there.to_bits(), rounded(*value), "{value:e} on the device");
        }
        let back = device.from_bf16(&there).unwrap();
        for (there, back) in there.iter().zip(&back) {
            assert_eq!(back.to_bits(), u32::from(there.to_bits()) << 16, "from the device");
        }
        assert!(device.to_bf16(&[f32::NAN]).unwrap()[0].is_nan());
    });
}

#[test]
fn a_checkpoint_is_the_rounding_of_its_weights_and_survives_exactly() {
    on_device("checkpoints::a_checkpoint_is_the_rounding_of_its_weights_and_survives_exactly", |device| {
        let weights = weights(7);
        let file = weights.to_safetensors(Precision::Bf16).unwrap();
        let read = Weights::from_safetensors(&file, None).unwrap();
        for (value, read) in weights.values().iter().zip(read.values()) {
            assert_eq!(read.to_bits(), u32::from(rounded(*value)) << 16);
        }
        let there = device.from_bf16(&device.to_bf16(weights.values()).unwrap()).unwrap();
        assert_eq!(Weights::from_values(&SHAPE, there).unwrap().digest(), read.digest());
        assert_eq!(read.to_safetensors(Precision::Bf16).unwrap(), file);
    });
}
