use super::device::{Device, Failure, holds};
use crate::kernels::{Address, LaunchShape};
use crate::math;
use crate::weights::test_words;

kernel! {
    /// The elementary functions, one argument a thread.
    struct Probe = "probe.cu"::"probe" {
        /// Arguments.
        x: Address,
        /// How many.
        count: u32,
        /// Which function.
        function: u32,
        /// Results.
        out: Address,
    }
    shape(launch) { LaunchShape::line(launch.count.div_ceil(256), 256) }
}

/// A function's name and its definition.
type Function = (&'static str, fn(f32) -> f32);

/// In the order of the probe's cases.
const FUNCTIONS: [Function; 5] = [
    ("exp", math::exp::<f32>),
    ("ln", math::ln::<f32>),
    ("sin", math::sin::<f32>),
    ("cos", math::cos::<f32>),
    ("sigmoid", math::sigmoid::<f32>),
];

/// Bit patterns of every exponent and both signs, the ends of every binade among them, and the places where a function
/// changes its way.
fn arguments() -> Vec<f32> {
    let mut words = test_words(3);
    let mut patterns = Vec::new();
    for top in 0..512_u32 {
        let first = top << 23;
        patterns.extend([first, first | 1, first | 0x7f_ffff, first | 0x2a_aaab]);
        patterns.extend((0..12).map(|_| first | (words() >> 41) as u32));
    }
    let mut arguments: Vec<f32> = patterns.into_iter().map(f32::from_bits).collect();
    for edge in [-104.0, 89.0, 88.722_84, -87.336_55, -103.972_08, 2.0 / 3.0, 4.0 / 3.0, 1.0, 0.0, 1.0e5_f32]
    {
        arguments.extend([edge, edge.next_up(), edge.next_down(), -edge]);
    }
    arguments
}

#[test]
fn elementary_functions_have_their_bits_at_every_exponent() {
    holds(|device: &mut Device<'_>| {
        let arguments = arguments();
        let x = device.put(&arguments);
        for (function, (name, reference)) in FUNCTIONS.into_iter().enumerate() {
            let out = device.room(arguments.len());
            device.run(&Probe { x, count: arguments.len() as u32, function: function as u32, out })?;
            let expected: Vec<f32> = arguments.iter().map(|&x| reference(x)).collect();
            device.expect(name, out, &expected)?;
        }
        Ok::<(), Failure>(())
    });
}
