//! Where the arithmetic of a run takes place.

use std::sync::Arc;

use tadpole_gpu::ArithmeticError;
use tadpole_gpu::backend::{Backend, CpuBackend};
use tadpole_gpu::cuda::CudaBackend;
use tadpole_gpu::vector::Isa;
use tadpole_scenarios::schema::{self, Device, Exec};

/// The backend that `[exec]` asks for, on this many threads. Whichever it is, the bits are the same.
///
/// # Errors
/// Where the instruction set or the device asked for is not there. `auto` is content with the processor.
pub fn backend(exec: &Exec, threads: usize) -> Result<Arc<dyn Backend>, ArithmeticError> {
    match exec.device {
        Device::Cpu => on_processor(exec, threads),
        Device::Cuda => Ok(Arc::new(CudaBackend::new()?)),
        Device::Auto => match CudaBackend::new() {
            Ok(device) => Ok(Arc::new(device)),
            Err(_no_device) => on_processor(exec, threads),
        },
    }
}

fn on_processor(exec: &Exec, threads: usize) -> Result<Arc<dyn Backend>, ArithmeticError> {
    let isa = match exec.isa {
        schema::Isa::Auto => Isa::choose()?,
        schema::Isa::Scalar => Isa::by_name("scalar")?,
        schema::Isa::Avx2 => Isa::by_name("avx2")?,
        schema::Isa::Avx512 => Isa::by_name("avx512")?,
        schema::Isa::Neon => Isa::by_name("neon")?,
    };
    Ok(Arc::new(CpuBackend::with_isa(threads, isa)?))
}
