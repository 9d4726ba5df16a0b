//! Compares the elementary functions with those of the CUDA kernels, compiled as C++, bit by bit.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tadpole_gpu::math;

/// A name in `math.cpp` and the function that must have its bits.
pub(crate) type Pair = (&'static str, fn(f32) -> f32);

/// The functions under comparison, each with its name in `math.cpp`.
pub(crate) const FUNCTIONS: [Pair; 6] = [
    ("exp", math::exp::<f32>),
    ("ln", math::ln::<f32>),
    ("sin", math::sin::<f32>),
    ("cos", math::cos::<f32>),
    ("rsqrt", math::rsqrt::<f32>),
    ("sigmoid", math::sigmoid::<f32>),
];

/// Compiles `math.cpp` into `directory` with the system's C++ compiler and the extra `flags`.
pub(crate) fn compile(directory: &Path, flags: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = directory.join("math");
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let status = Command::new(&compiler)
        .args(["-std=c++20", "-O2", "-ffp-contract=off"])
        .args(flags)
        .arg("-I")
        .arg(root.join("kernels"))
        .arg("-I")
        .arg(root.join("emulator/cxx"))
        .arg(root.join("tests/cxx/math.cpp"))
        .arg("-o")
        .arg(&program)
        .status()
        .expect("a C++ compiler is needed: install g++ or name one in CXX");
    assert!(status.success(), "{} failed: {status}", compiler.display());
    program
}

/// Compares `count` values of a function from the bit pattern `first` on, `stride` apart; returns the bit patterns of
/// the first argument that differs with both results, NaNs counting as equal.
pub(crate) fn first_difference(
    program: &Path,
    (name, function): Pair,
    first: u32,
    count: u64,
    stride: u32,
) -> Option<(u32, u32, u32)> {
    let mut child = Command::new(program)
        .args([name, &first.to_string(), &count.to_string(), &stride.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program was just compiled");
    let mut output = child.stdout.take().expect("its output is piped");
    let mut buffer = vec![0; 1 << 16];
    let mut bits = first;
    let mut left = count;
    let mut difference = None;
    while left > 0 {
        let block = &mut buffer[..(4 * left.min(1 << 14)) as usize];
        output.read_exact(block).expect("the program writes every value");
        for word in block.chunks_exact(4) {
            let theirs = f32::from_le_bytes(word.try_into().expect("4 bytes"));
            let ours = function(f32::from_bits(bits));
            let equal = ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan());
            if !equal && difference.is_none() {
                difference = Some((bits, ours.to_bits(), theirs.to_bits()));
            }
            bits = bits.wrapping_add(stride);
        }
        left -= block.len() as u64 / 4;
    }
    assert!(child.wait().expect("it was spawned").success());
    difference
}
