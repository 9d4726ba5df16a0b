//! One device, one stream, and the kernels loaded on it.
//!
//! *Invariant*: an address that is passed to [`Device::launch`] was taken from a buffer that is still there, after the
//! last time that it grew. A buffer that is freed later is freed behind the launch: freeing is work on the stream too.
#![expect(unsafe_code, reason = "launching a kernel is unsafe")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cudarc::driver::sys::{CUevent_flags, CUfunction_attribute};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

use super::error::DeviceError;
use super::probe::{Found, probe};
use super::ptx;
use crate::kernels::{Argument, Entry, Launch, LaunchShape};

/// Shared memory that a block may have without asking for more.
const SHARED_BYTES: u32 = 48 * 1024;

/// A device ready to compute.
pub(crate) struct Device {
    stream: Arc<CudaStream>,
    functions: BTreeMap<&'static str, CudaFunction>,
    found: Found,
}

impl Device {
    /// The first device. Everything in this process that computes at the same time shares it.
    pub(crate) fn shared() -> Result<Arc<Self>, DeviceError> {
        static OPEN: Mutex<Weak<Device>> = Mutex::new(Weak::new());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = open.upgrade() {
            return Ok(device);
        }
        let device = Arc::new(Self::open()?);
        *open = Arc::downgrade(&device);
        Ok(device)
    }

    fn open() -> Result<Self, DeviceError> {
        let found = probe()?;
        let context = CudaContext::new(0).map_err(DeviceError::driver("opening the device"))?;
        // SAFETY: there is one stream, on which everything runs in order; events would order what is ordered.
        unsafe { context.disable_event_tracking() };
        let mut functions = BTreeMap::new();
        for file in ptx::FILES {
            let failed = DeviceError::driver("loading the kernels");
            let module = context.load_module(Ptx::from_src(file.text)).map_err(&failed)?;
            for entry in file.entries() {
                let function = module.load_function(entry.name).map_err(DeviceError::driver(entry.name))?;
                functions.insert(entry.name, function);
            }
        }
        Ok(Self { stream: context.default_stream(), functions, found })
    }

    /// What it is.
    pub(crate) fn found(&self) -> &Found {
        &self.found
    }

    /// The stream on which everything runs.
    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Hands a kernel over; it runs after everything that was handed over before. A launch without blocks is none.
    pub(crate) fn launch<L: Launch>(&self, launch: &L) -> Result<(), DeviceError> {
        let shape = launch.shape();
        if shape.is_empty() {
            return Ok(());
        }
        let failed = DeviceError::driver(L::NAME);
        let Some(function) = self.functions.get(L::NAME) else {
            return Err(DeviceError::Kernel(Entry::of::<L>().name));
        };
        if shape.shared_bytes > SHARED_BYTES {
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            function.set_attribute(attribute, shape.shared_bytes as i32).map_err(&failed)?;
        }
        let arguments = launch.arguments();
        let mut builder = self.stream.launch_builder(function);
        for argument in &arguments {
            match argument {
                Argument::Address(address) => builder.arg(&address.0),
                Argument::U32(value) => builder.arg(value),
                Argument::U64(value) => builder.arg(value),
                Argument::F32(value) => builder.arg(value),
            };
        }
        // SAFETY: number, order and types of the arguments are those of the kernel's source (tested), and the addresses
        // are of live buffers (the module's invariant). What a kernel touches within its buffers is stated where it is
        // described and tested on the emulator, where every buffer ends at a page that cannot be touched.
        unsafe { builder.launch(config(&shape)) }.map_err(failed).map(|_no_events| ())
    }

    /// How long the device takes for what `work` hands over, in milliseconds, by its own clock.
    pub(crate) fn time_ms(&self, work: impl FnOnce() -> Result<(), DeviceError>) -> Result<f32, DeviceError> {
        let failed = DeviceError::driver("taking the time");
        let mark = || self.stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(&failed);
        let begin = mark()?;
        work()?;
        begin.elapsed_ms(&mark()?).map_err(&failed)
    }
}

fn config(shape: &LaunchShape) -> LaunchConfig {
    let [x, y, z] = shape.grid;
    LaunchConfig { grid_dim: (x, y, z), block_dim: (shape.block, 1, 1), shared_mem_bytes: shape.shared_bytes }
}
