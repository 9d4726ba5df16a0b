//! Whether there is a device, asked so that nothing panics where there is none.
//!
//! `cudarc` opens the driver's library when it is first called, and panics where the library or a symbol is missing. So
//! everything that it will call is looked for before anything is called.
#![expect(unsafe_code, reason = "the driver is a C library")]

use cudarc::driver::sys;
use cudarc::driver::sys::CUdevice_attribute_enum as Attribute;
use thiserror::Error;

use super::error::driver_text;

/// The oldest driver that reads the embedded PTX: the CUDA version that it supports.
pub const DRIVER_MIN: Version = Version { major: 13, minor: 0 };
/// The architecture that the embedded PTX is for; every later one runs it.
pub const CAPABILITY_MIN: Version = Version { major: 8, minor: 0 };

/// A version as CUDA counts: of a driver, or of an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Before the point.
    pub major: u32,
    /// Behind the point.
    pub minor: u32,
}

impl core::fmt::Display for Version {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(out, "{}.{}", self.major, self.minor)
    }
}

/// A device that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name, as the driver gives it.
    pub name: String,
    /// Its compute capability.
    pub capability: Version,
    /// The CUDA version that the driver supports.
    pub driver: Version,
    /// All of its memory.
    pub memory_bytes: u64,
    /// How many devices there are; the first is used.
    pub devices: u32,
}

/// Why no device can be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unusable {
    /// The driver's library is not found.
    #[error("no NVIDIA driver: the library libcuda is not found")]
    NoDriver,
    /// The library lacks functions.
    #[error("the NVIDIA driver lacks {}{}", .0[0], others(.0.len() - 1))]
    Symbols(Vec<&'static str>),
    /// The driver supports an older CUDA than the embedded PTX needs.
    #[error("the NVIDIA driver supports CUDA {found}; {DRIVER_MIN} is needed")]
    OldDriver {
        /// What it supports.
        found: Version,
    },
    /// The driver is there and knows no device.
    #[error("the NVIDIA driver finds no device")]
    NoDevice,
    /// The first device is older than the embedded PTX.
    #[error("{name} has compute capability {found}; the kernels are built for {CAPABILITY_MIN} and later")]
    Architecture {
        /// The device.
        name: String,
        /// Its compute capability.
        found: Version,
    },
    /// A call that asks about the device fails.
    #[error("the NVIDIA driver does not answer: {call} gives {error}")]
    Call {
        /// The call.
        call: &'static str,
        /// What the driver says.
        error: String,
    },
}

impl Unusable {
    /// What a person can do about it.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::NoDriver => "runs use the processor; for a device, install the NVIDIA driver",
            Self::Symbols(_) | Self::OldDriver { .. } => "runs use the processor; update the NVIDIA driver",
            Self::NoDevice => {
                "runs use the processor; see whether nvidia-smi lists a device and CUDA_VISIBLE_DEVICES hides it"
            }
            Self::Architecture { .. } => "runs use the processor; the kernels need a newer device",
            Self::Call { .. } => "runs use the processor; see whether nvidia-smi works",
        }
    }
}

fn others(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => " and one more function".to_owned(),
        _ => format!(" and {count} more functions"),
    }
}

/// Every function of the driver that is called, here or by `cudarc` on our behalf.
const SYMBOLS: [&str; 31] = [
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime_v2",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncSetAttribute",
    "cuGetErrorString",
    "cuInit",
    "cuLaunchKernel",
    "cuMemAllocAsync",
    "cuMemAlloc_v2",
    "cuMemFreeAsync",
    "cuMemFree_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuStreamSynchronize",
];

/// Looks for a device that can be used. Never panics, and changes nothing.
pub fn probe() -> Result<Found, Unusable> {
    // SAFETY: opening the library runs its initialisers; a driver's do nothing but set up its own state.
    if !unsafe { sys::is_culib_present() } {
        return Err(Unusable::NoDriver);
    }
    let missing: Vec<&'static str> = SYMBOLS.into_iter().filter(|name| !has_symbol(name)).collect();
    if !missing.is_empty() {
        return Err(Unusable::Symbols(missing));
    }
    let driver = driver_version()?;
    if driver < DRIVER_MIN {
        return Err(Unusable::OldDriver { found: driver });
    }
    // SAFETY: the function is there; its argument must be 0.
    match unsafe { sys::cuInit(0) } {
        sys::CUresult::CUDA_ERROR_NO_DEVICE => return Err(Unusable::NoDevice),
        result => checked("cuInit", result)?,
    }
    let mut devices = 0;
    // SAFETY: the function is there and writes one integer.
    checked("cuDeviceGetCount", unsafe { sys::cuDeviceGetCount(&raw mut devices) })?;
    if devices < 1 {
        return Err(Unusable::NoDevice);
    }
    let found = Found { driver, devices: devices as u32, ..describe()? };
    if found.capability < CAPABILITY_MIN {
        return Err(Unusable::Architecture { name: found.name, found: found.capability });
    }
    Ok(found)
}

fn has_symbol(name: &str) -> bool {
    // SAFETY: the library is there, so this does not panic; the address is only compared with null, never called.
    unsafe { sys::culib().get::<*const core::ffi::c_void>(name.as_bytes()) }.is_ok()
}

/// The CUDA version that the driver supports; it needs no device.
fn driver_version() -> Result<Version, Unusable> {
    let mut version = 0;
    // SAFETY: the function is there and writes one integer.
    checked("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&raw mut version) })?;
    Ok(Version { major: version as u32 / 1000, minor: version as u32 % 1000 / 10 })
}

/// What the first device is; the driver has been initialised.
fn describe() -> Result<Found, Unusable> {
    let mut device = 0;
    // SAFETY: the function is there and writes one handle.
    checked("cuDeviceGet", unsafe { sys::cuDeviceGet(&raw mut device, 0) })?;
    let mut name = [0_u8; 128];
    let (room, length) = (name.as_mut_ptr().cast(), name.len() as i32);
    // SAFETY: the function is there and writes at most `length` bytes.
    checked("cuDeviceGetName", unsafe { sys::cuDeviceGetName(room, length, device) })?;
    let mut memory_bytes = 0;
    // SAFETY: the function is there and writes one size.
    checked("cuDeviceTotalMem", unsafe { sys::cuDeviceTotalMem_v2(&raw mut memory_bytes, device) })?;
    let attribute = |which| {
        let mut value = 0;
        // SAFETY: the function is there and writes one integer.
        let result = unsafe { sys::cuDeviceGetAttribute(&raw mut value, which, device) };
        checked("cuDeviceGetAttribute", result).map(|()| value as u32)
    };
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    Ok(Found {
        name: String::from_utf8_lossy(&name[..end]).into_owned(),
        capability: Version {
            major: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            minor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        },
        driver: DRIVER_MIN,
        memory_bytes: memory_bytes as u64,
        devices: 0,
    })
}

fn checked(call: &'static str, result: sys::CUresult) -> Result<(), Unusable> {
    result.result().map_err(|error| Unusable::Call { call, error: driver_text(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probing_this_machine_never_panics_and_a_refusal_says_what_to_do() {
        if let Err(unusable) = probe() {
            assert!(!unusable.to_string().is_empty());
            assert!(unusable.advice().starts_with("runs use the processor"));
        }
    }

    #[test]
    fn missing_functions_are_counted() {
        assert_eq!(Unusable::Symbols(vec!["cuInit"]).to_string(), "the NVIDIA driver lacks cuInit");
        let two = Unusable::Symbols(vec!["cuInit", "cuCtxGetCurrent"]).to_string();
        assert_eq!(two, "the NVIDIA driver lacks cuInit and one more function");
    }
}
