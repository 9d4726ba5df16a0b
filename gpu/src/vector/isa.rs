//! Which instruction set runs the kernels, and the way into it.

use super::V16;
use super::lanes::Lanes;
use core::hint::black_box;
use std::env::VarError;
use thiserror::Error;

/// The environment variable that overrides the choice: the name of an instruction set.
const OVERRIDE: &str = "TADPOLE_ISA";

/// An instruction set that kernels can run on. A choice of speed, never of result.
///
/// A value other than [`Isa::SCALAR`] exists only on a processor that has the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    Scalar,
    #[cfg(target_arch = "aarch64")]
    Neon,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The names of all sets, of this machine's architecture or not.
const NAMES: [&str; 4] = ["scalar", "neon", "avx2", "avx512"];

/// Why an instruction set cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IsaError {
    /// The name is none of those known.
    #[error("unknown instruction set {0:?}: {known} are known", known = NAMES.join(", "))]
    Unknown(String),
    /// This processor does not have the set.
    #[error("this processor does not have {0}; it has {has}", has = available_names())]
    Absent(&'static str),
    /// The environment asks for a set that cannot be used.
    #[error("the environment variable {OVERRIDE}: {0}")]
    Override(Box<IsaError>),
}

impl Isa {
    /// Plain Rust: the specification.
    pub const SCALAR: Self = Self(Set::Scalar);

    /// All sets that this processor has, the slowest first.
    pub fn available() -> Vec<Self> {
        let mut sets = vec![Self::SCALAR];
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            sets.push(Self(Set::Neon));
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            sets.push(Self(Set::Avx2));
            if is_x86_feature_detected!("avx512f") {
                sets.push(Self(Set::Avx512));
            }
        }
        sets
    }

    /// The set with this name, if this processor has it.
    pub fn by_name(name: &str) -> Result<Self, IsaError> {
        let Some(known) = NAMES.into_iter().find(|&known| known == name) else {
            return Err(IsaError::Unknown(name.to_owned()));
        };
        Self::available().into_iter().find(|isa| isa.name() == known).ok_or(IsaError::Absent(known))
    }

    /// The fastest set of this processor, or the one that `TADPOLE_ISA` names.
    pub fn choose() -> Result<Self, IsaError> {
        Self::chosen(std::env::var(OVERRIDE))
    }

    pub(super) fn chosen(wanted: Result<String, VarError>) -> Result<Self, IsaError> {
        let name = match wanted {
            Ok(name) => name,
            Err(VarError::NotUnicode(name)) => name.to_string_lossy().into_owned(),
            Err(VarError::NotPresent) => {
                return Ok(Self::available().into_iter().next_back().unwrap_or(Self::SCALAR));
            }
        };
        Self::by_name(&name).map_err(|error| IsaError::Override(Box::new(error)))
    }

    /// The name, as `TADPOLE_ISA` spells it.
    pub fn name(self) -> &'static str {
        match self.0 {
            Set::Scalar => "scalar",
            #[cfg(target_arch = "aarch64")]
            Set::Neon => "neon",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => "avx512",
        }
    }
}

fn available_names() -> String {
    let names: Vec<&str> = Isa::available().into_iter().map(Isa::name).collect();
    names.join(", ")
}

/// A computation written once over the vector type.
///
/// Bodies and what they call are `#[inline(always)]`, and pass no closures that compute on vectors: code that is not
/// inlined into the entry is compiled without the instruction set. (NEON is part of every target that has it, so its
/// lanes may.)
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
        #[cfg(target_arch = "aarch64")]
        Set::Neon => arm::run_neon(kernel),
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => x86::run_avx2(kernel),
        #[cfg(target_arch = "x86_64")]
        Set::Avx512 => x86::run_avx512(kernel),
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

#[cfg(target_arch = "aarch64")]
mod arm {
    #![expect(
        unsafe_code,
        reason = "a call into code compiled for an instruction set; it says why it is sound"
    )]

    use super::super::neon::Neon;
    use super::Kernel;

    #[inline]
    pub(super) fn run_neon<K: Kernel>(kernel: K) -> K::Output {
        // SAFETY: the caller holds an `Isa` of NEON, which `Isa::available` makes only on processors with NEON.
        unsafe { enter_neon(kernel) }
    }

    #[target_feature(enable = "neon")]
    #[inline(never)]
    fn enter_neon<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<Neon>()
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
