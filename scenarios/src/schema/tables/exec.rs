//! `[log]` and `[exec]`: what is kept, and how fast it goes.

use crate::schema::check::Anything;
use crate::schema::table::keys;
use crate::schema::value::choice;

choice! {
    /// Which optimiser states and weights of single updates stay on disk.
    pub enum Keep {
        /// Those at the end of each iteration; the others can be recomputed.
        Iterations = "iterations",
        /// All.
        All = "all",
    }
}

choice! {
    /// Where the arithmetic runs.
    pub enum Device {
        /// On the first CUDA device where one can be used, else on the processor.
        Auto = "auto",
        /// On the processor.
        Cpu = "cpu",
        /// On the first CUDA device.
        Cuda = "cuda",
    }
}

choice! {
    /// Instruction set of the processor's kernels. All give the same bits.
    pub enum Isa {
        /// The widest there is.
        Auto = "auto",
        /// The specification.
        Scalar = "scalar",
        /// AVX2 with FMA.
        Avx2 = "avx2",
        /// AVX-512F.
        Avx512 = "avx512",
        /// NEON, of ARM processors.
        Neon = "neon",
    }
}

choice! {
    /// How progress is shown.
    pub enum ProgressKind {
        /// Live on a terminal, plain lines elsewhere.
        Auto = "auto",
        /// Plain lines.
        Plain = "plain",
        /// Not at all.
        None = "none",
    }
}

keys! {
    /// What a run keeps.
    pub struct Log {
        /// Optimiser states and weights of single updates: "iterations" keeps those at the end of each, "all" keeps all. What is
        /// dropped can be recomputed.
        keep: Keep = Keep::Iterations, Anything;
    }
}

keys! {
    /// How fast it goes and what is shown: none of these keys changes a bit of the run, so they are no part of its identity.
    pub struct Exec {
        /// Threads; 0 for one a core.
        threads: u32 = 0, 0..=1_024;
        /// Sandbox worker processes; 0 for one a thread.
        workers: u32 = 0, 0..=1_024;
        /// Where the arithmetic runs. All give the same bits.
        device: Device = Device::Cpu, Anything;
        /// Instruction set of the processor's kernels.
        isa: Isa = Isa::Auto, Anything;
        /// Whether the rollouts of the next update are played beside the current one, where the lag is at least 1.
        ahead: bool = true, Anything;
        /// Directory in which a run makes its own, named after scenario and seed.
        out: String = String::from("runs"), Anything;
        /// How progress is shown.
        progress: ProgressKind = ProgressKind::Auto, Anything;
    }
}
