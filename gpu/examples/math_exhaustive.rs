//! Checks the elementary functions at all 2^32 arguments: against those of the CUDA kernels bit by bit, and against double
//! precision for the worst error. Takes ten minutes with fused multiply-add instructions, far longer without; the names
//! of functions on the command line restrict it to these.
//!
//! ```text
//! RUSTFLAGS="-C target-feature=+fma,+avx2" cargo run --release -p tadpole-gpu --example math_exhaustive -- exp ln
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a check: any failure ends it")]
#![allow(clippy::disallowed_methods, reason = "the standard library's functions are the reference here")]

#[path = "../tests/cxx/mod.rs"]
mod cxx;
#[path = "../tests/ulp/mod.rs"]
mod ulp;

const ALL: u64 = 1 << 32;

fn main() {
    let directory = std::env::temp_dir().join(format!("tadpole-math-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("the temporary directory is writable");
    let flags: &[&str] = if cfg!(target_feature = "fma") { &["-mfma"] } else { &[] };
    let names: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let program = cxx::compile(&directory, flags);
    for function in cxx::FUNCTIONS.into_iter().filter(|function| wanted(function.0)) {
        match cxx::first_difference(&program, function, 0, ALL, 1) {
            None => println!("{:8} equal to the kernels' at all 2^32 arguments", function.0),
            Some((bits, ours, theirs)) => {
                println!("{:8} differs at {bits:08x}: {ours:08x}, the kernels' {theirs:08x}", function.0);
                std::process::exit(1);
            }
        }
    }
    std::fs::remove_dir_all(directory).expect("it was created above");
    for reference in ulp::REFERENCES.iter().filter(|reference| wanted(reference.name)) {
        let (error, at) = reference.worst(1);
        let (name, unit, stated) = (reference.name, reference.unit(), reference.stated);
        println!("{name:8} worst error {error:.4e} {unit} at {at:e}, stated {stated:e}");
    }
}
