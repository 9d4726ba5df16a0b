//! Why a computation on a device fails.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;
use thiserror::Error;

use super::probe::Unusable;

/// Why a computation on a device fails. The device is then not to be used again in this process.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// There is no device to use.
    #[error("no CUDA device can be used: {0}")]
    Unusable(#[from] Unusable),
    /// Its memory does not hold what is asked of it.
    #[error("the device has no {bytes} bytes left for {what}")]
    Memory {
        /// What was to be allocated.
        what: &'static str,
        /// How many bytes.
        bytes: u64,
    },
    /// The embedded kernels do not have this one.
    #[error("there is no kernel {0}")]
    Kernel(&'static str),
    /// What devices are not made to do.
    #[error("{0} is not available on devices; use the processor")]
    Unsupported(&'static str),
    /// A kernel says that something is refused, and none says what.
    #[error("the device refused something without saying what: it cannot be trusted")]
    Unexplained,
    /// A number is not what the processor finds for the same inputs.
    #[error(
        "the device decided otherwise than the processor about target {target} of sequence {sequence}: it cannot be trusted"
    )]
    Disagrees {
        /// The sequence, as an index into what the call was given.
        sequence: usize,
        /// The target, counted within its sequence.
        target: usize,
    },
    /// A call of the driver fails.
    #[error("{what}: {error}")]
    Driver {
        /// What was being done.
        what: &'static str,
        /// What the driver says.
        error: String,
    },
}

impl DeviceError {
    /// The driver's error while doing `what`.
    pub(super) fn driver(what: &'static str) -> impl Fn(DriverError) -> Self {
        move |error| Self::Driver { what, error: driver_text(error) }
    }

    /// The driver's error while allocating.
    pub(super) fn allocation(what: &'static str, bytes: usize) -> impl Fn(DriverError) -> Self {
        move |error| match error.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Self::Memory { what, bytes: bytes as u64 },
            _ => Self::driver(what)(error),
        }
    }
}

/// The name and the text of an error, e.g. `CUDA_ERROR_NOT_FOUND (named symbol not found)`.
pub(super) fn driver_text(error: DriverError) -> String {
    match error.error_string() {
        Ok(text) => format!("{:?} ({})", error.0, text.to_string_lossy()),
        Err(_unknown) => format!("{:?}", error.0),
    }
}
