//! The elementary functions have the bits of the CUDA kernels' own.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod cxx;

/// A prime: all exponents and all trailing digits are met.
const STRIDE: u32 = 4093;

#[test]
fn every_function_has_the_bits_of_its_counterpart_in_the_kernels() {
    let directory = std::env::temp_dir().join(format!("tadpole-math-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let program = cxx::compile(&directory, &[]);
    for function in cxx::FUNCTIONS {
        let count = (1 << 32) / u64::from(STRIDE);
        let difference = cxx::first_difference(&program, function, 0, count, STRIDE);
        assert_eq!(difference, None, "{}: argument, ours, theirs (bits)", function.0);
    }
    std::fs::remove_dir_all(directory).unwrap();
}
