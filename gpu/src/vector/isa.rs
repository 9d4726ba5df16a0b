//! Which instruction set runs the kernels, and the way into it.

use super::V16;
use super::lanes::Lanes;
use core::hint::black_box;
use thiserror::Error;

/// The environment variable that overrides the choice: `scalar`, `avx2` or `avx512`.
const OVERRIDE: &str = "TADPOLE_ISA";

/// An instruction set that kernels can run on. A choice of speed, never of result.
///
/// A value other than [`Isa::SCALAR`] exists only on a processor that has the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Set {
    Scalar,
    Avx2,
    Avx512,
}

/// Why an instruction set cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IsaError {
    /// The name is none of those known.
    #[error("unknown instruction set {0:?}: scalar, avx2 and avx512 are known")]
    Unknown(String),
    /// This processor does not have the set.
    #[error("this processor does not have {0}")]
    Absent(String),
}

impl Isa {
    /// Plain Rust: the specification.
    pub const SCALAR: Self = Self(Set::Scalar);

    /// All sets that this processor has, the slowest first.
    pub fn available() -> Vec<Self> {
        let mut sets = vec![Self::SCALAR];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                sets.push(Self(Set::Avx2));
                if is_x86_feature_detected!("avx512f") {
                    sets.push(Self(Set::Avx512));
                }
            }
        }
        sets
    }

    /// The set with this name, if this processor has it.
    pub fn by_name(name: &str) -> Result<Self, IsaError> {
        let wanted = match name {
            "scalar" => Set::Scalar,
            "avx2" => Set::Avx2,
            "avx512" => Set::Avx512,
            other => return Err(IsaError::Unknown(other.to_owned())),
        };
        let found = Self::available().into_iter().find(|isa| isa.0 == wanted);
        found.ok_or_else(|| IsaError::Absent(name.to_owned()))
    }

    /// The fastest set of this processor, or the one that `TADPOLE_ISA` names.
    pub fn choose() -> Result<Self, IsaError> {
        match std::env::var(OVERRIDE) {
            Ok(name) => Self::by_name(&name),
            Err(_unset) => Ok(Self::available().into_iter().next_back().unwrap_or(Self::SCALAR)),
        }
    }

    /// The name, as `TADPOLE_ISA` spells it.
    pub fn name(self) -> &'static str {
        match self.0 {
            Set::Scalar => "scalar",
            Set::Avx2 => "avx2",
            Set::Avx512 => "avx512",
        }
    }
}

/// A computation written once over the vector type.
///
/// Bodies and what they call are `#[inline(always)]`, and pass no closures that compute on vectors: code that is not
/// inlined into the entry is compiled without the instruction set.
pub(crate) trait Kernel {
    /// What it computes.
    type Output;
    /// The computation.
    fn run<V: V16>(self) -> Self::Output;
}

/// Runs a kernel on an instruction set.
#[inline]
pub(crate) fn dispatch<K: Kernel>(isa: Isa, kernel: K) -> K::Output {
    match isa.0 {
        Set::Scalar => enter_scalar(kernel),
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => x86::run_avx2(kernel),
        #[cfg(target_arch = "x86_64")]
        Set::Avx512 => x86::run_avx512(kernel),
        #[cfg(not(target_arch = "x86_64"))]
        Set::Avx2 | Set::Avx512 => enter_scalar(kernel),
    }
}

#[inline(never)]
fn enter_scalar<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Lanes>()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    #![expect(
        unsafe_code,
        reason = "calls into code compiled for an instruction set; each call says why it is sound"
    )]

    use super::super::avx2::Avx2;
    use super::super::avx512::Avx512;
    use super::Kernel;

    #[inline]
    pub(super) fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
        // SAFETY: the caller holds an `Isa` of AVX2, which `Isa::available` makes only on processors with AVX2 and FMA.
        unsafe { enter_avx2(kernel) }
    }

    #[inline]
    pub(super) fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
        // SAFETY: the caller holds an `Isa` of AVX-512, which `Isa::available` makes only on processors with AVX-512F,
        // AVX2 and FMA.
        unsafe { enter_avx512(kernel) }
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline(never)]
    fn enter_avx2<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<Avx2>()
    }

    #[target_feature(enable = "avx512f,avx2,fma")]
    #[inline(never)]
    fn enter_avx512<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<Avx512>()
    }
}

/// Whether this thread computes as the definition says: subnormals kept on both sides of an operation, rounding to
/// nearest. A library that sets a fast mode in the control register would break both silently.
pub fn environment_is_exact() -> bool {
    let least = f32::from_bits(1);
    let subnormal_result = black_box(f32::MIN_POSITIVE) * black_box(0.5);
    let subnormal_argument = black_box(least) * black_box(8_388_608.0);
    let tie = black_box(1.0_f32) + black_box(f32::EPSILON / 2.0);
    let below = black_box(-1.0_f32) - black_box(f32::EPSILON / 2.0);
    let above_tie = black_box(1.0_f32) + black_box(f32::EPSILON * 0.75);
    subnormal_result.to_bits() == 0x0040_0000
        && subnormal_argument.to_bits() == f32::MIN_POSITIVE.to_bits()
        && tie.to_bits() == 1.0_f32.to_bits()
        && below.to_bits() == (-1.0_f32).to_bits()
        && above_tie.to_bits() == (1.0 + f32::EPSILON).to_bits()
}
