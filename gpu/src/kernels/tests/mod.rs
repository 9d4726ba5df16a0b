//! Every kernel has the bits of its reference, in every execution order; and what would break that is seen.
//!
//! References are the processor's code itself, on its scalar instruction set. The kernels run on the emulator, which
//! needs a C++ compiler: without one these tests fail and say so.

mod attention;
mod contract;
mod device;
mod elementwise;
mod embedding;
mod gemm;
mod loss;
mod memory;
mod norm;
mod optimiser;
mod plants;
mod ptx_plants;
mod replay;
mod rotate;
mod tokens;
mod values;
