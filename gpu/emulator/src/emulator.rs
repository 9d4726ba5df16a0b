//! A compiled library of kernels: loading, memory, launches.
//!
//! *Invariant*: this is the only module with `unsafe` code. It calls the C functions that `cxx/emulator.hpp` declares, in a
//! library that [`Sources::compile`](crate::Sources::compile) has made from that very header.
#![expect(unsafe_code, reason = "calls into a library of kernels")]

use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

/// Room for the reason why a kernel was stopped.
const MESSAGE: usize = 512;

/// Signal handlers belong to the process, so one kernel runs at a time, whatever library it is in.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Why a library cannot be used.
#[derive(Debug, Error)]
#[error("the emulator cannot be loaded: {0}")]
pub struct LoadError(#[from] libloading::Error);

/// Why a kernel was stopped, with the place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Stopped(String);

/// In which order blocks, warps and lanes run. A kernel that is right has the same result in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Ascending.
    Forward,
    /// Descending.
    Reverse,
    /// Shuffled again between any two barriers, by a seed.
    Shuffled(u64),
}

/// At which side of a piece of memory an access outside of it is caught at its first byte; at the other, within a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Before it.
    Before,
    /// Behind it.
    Behind,
}

/// A kernel, its launch shape and its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The entry point.
    pub name: &'a str,
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// Each parameter's bytes, from the first on.
    pub arguments: &'a [[u8; 8]],
}

/// `EmulatorLaunch` of `cxx/emulator.hpp`.
#[repr(C)]
struct RawLaunch {
    name: *const c_char,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    order: c_uint,
    seed: u64,
    arguments: *mut *mut c_void,
    argument_count: c_uint,
}

type LaunchFn = unsafe extern "C" fn(*const RawLaunch, *mut c_char, usize) -> c_int;
type EntryFn = unsafe extern "C" fn(*const c_char, *mut c_uint, c_uint) -> c_int;
type AllocateFn = unsafe extern "C" fn(usize, c_int) -> *mut c_void;
type FreeFn = unsafe extern "C" fn(*mut c_void);

/// A library of kernels.
pub struct Emulator {
    launch: LaunchFn,
    entry: EntryFn,
    allocate: AllocateFn,
    free: FreeFn,
    /// Keeps the functions where they are.
    _library: Library,
}

impl Emulator {
    /// Loads a library that [`Sources::compile`](crate::Sources::compile) has made.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        // SAFETY: the library runs nothing when it is loaded but the constructors of the C++ runtime and of plain values.
        let library = unsafe { Library::new(path) }?;
        // SAFETY: the types are those that `cxx/emulator.hpp` declares for these names, and the library outlives them.
        unsafe {
            Ok(Self {
                launch: *library.get::<LaunchFn>(b"emulator_launch\0")?,
                entry: *library.get::<EntryFn>(b"emulator_entry\0")?,
                allocate: *library.get::<AllocateFn>(b"emulator_allocate\0")?,
                free: *library.get::<FreeFn>(b"emulator_free\0")?,
                _library: library,
            })
        }
    }

    /// The sizes of an entry point's parameters in bytes; `None` where there is no such entry point.
    pub fn parameter_sizes(&self, name: &str) -> Option<Vec<u32>> {
        let name = CString::new(name).ok()?;
        let mut sizes = [0; 64];
        // SAFETY: the name ends with a zero, and there is room for as many sizes as is said.
        let count = unsafe { (self.entry)(name.as_ptr(), sizes.as_mut_ptr(), sizes.len() as c_uint) };
        sizes.get(..usize::try_from(count).ok()?).map(<[u32]>::to_vec)
    }

    /// Memory of a device: every number in it is a NaN until it is written.
    pub fn allocate(&self, bytes: usize, guard: Guard) -> Option<Memory<'_>> {
        // SAFETY: any size may be asked for.
        let start = unsafe { (self.allocate)(bytes, c_int::from(guard == Guard::Before)) };
        Some(Memory { start: NonNull::new(start.cast())?, bytes, free: self.free, emulator: PhantomData })
    }

    /// Runs a kernel to its end. After an error its results have no meaning.
    pub fn launch(&self, call: &Call<'_>, order: Order) -> Result<(), Stopped> {
        let name = CString::new(call.name).map_err(|error| Stopped(error.to_string()))?;
        let mut values = call.arguments.to_vec();
        let mut pointers: Vec<*mut c_void> =
            values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
        let (order, seed) = match order {
            Order::Forward => (0, 0),
            Order::Reverse => (1, 0),
            Order::Shuffled(seed) => (2, seed),
        };
        let raw = RawLaunch {
            name: name.as_ptr(),
            grid: call.grid,
            block: call.block,
            shared_bytes: call.shared_bytes,
            order,
            seed,
            arguments: pointers.as_mut_ptr(),
            argument_count: pointers.len() as c_uint,
        };
        let mut message = [0_u8; MESSAGE];
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: everything that `raw` points to lives beyond the call, each argument has the eight bytes of the largest
        // parameter, and the message has the room that is said. What the kernel touches is its own affair: buffers lie
        // between guard pages, and a stray access ends the kernel, not the process.
        let stopped = unsafe { (self.launch)(&raw const raw, message.as_mut_ptr().cast(), message.len()) };
        if stopped == 0 {
            return Ok(());
        }
        let reason = CStr::from_bytes_until_nul(&message).unwrap_or_default();
        Err(Stopped(reason.to_string_lossy().into_owned()))
    }
}

/// Memory between guard pages.
pub struct Memory<'e> {
    start: NonNull<u8>,
    bytes: usize,
    free: FreeFn,
    emulator: PhantomData<&'e Emulator>,
}

impl Memory<'_> {
    /// Where it begins.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// Writes all of it; `bytes` must be as many as there are.
    pub fn write(&mut self, bytes: &[u8]) {
        assert_eq!(bytes.len(), self.bytes, "memory is written whole");
        // SAFETY: that many bytes are ours to write, and kernels run only inside `Emulator::launch`.
        unsafe { self.start.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) }
    }

    /// What is in it.
    pub fn read(&self) -> Vec<u8> {
        // SAFETY: that many bytes are ours and initialised: poisoned, then written; kernels run only inside
        // `Emulator::launch`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }.to_vec()
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated by the same library, freed once.
        unsafe { (self.free)(self.start.as_ptr().cast()) }
    }
}
