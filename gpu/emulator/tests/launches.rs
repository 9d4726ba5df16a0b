//! What a launch promises: every order, poisoned memory, and a process that outlives whatever a kernel does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use tadpole_emulator::{Call, Emulator, Guard, Order, Sources};

const KERNELS: &str = r#"#include "prelude.cuh"

// Each thread takes the next number: the order in which threads run.
extern "C" __global__ void order(unsigned *counter, unsigned *out) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = atomicOr(counter, 0u);
    *counter = *counter + 1;
}

// What shared memory holds before anybody writes it.
extern "C" __global__ void unwritten(float *out) {
    DYNAMIC_SHARED(dynamic);
    __shared__ float fixed[32];
    out[threadIdx.x] = fixed[threadIdx.x];
    out[32 + threadIdx.x] = dynamic[threadIdx.x];
    __syncthreads();
    fixed[threadIdx.x] = dynamic[threadIdx.x] = 1.0f;
}

// Each lane gets the number of the lane below it, within halves of a warp.
extern "C" __global__ void neighbours(unsigned *out) {
    out[threadIdx.x] = __shfl_down_sync(0xffffffffu, threadIdx.x, 1, 16);
}

extern "C" __global__ void write_at(float *out, unsigned place) { out[place] = 1.0f; }

// More than a stack holds, from its top down.
extern "C" __global__ void overflow(unsigned *out) {
    volatile char frame[96 * 1024];
    for (int i = 96 * 1024 - 1; i >= 0; i -= 1024) frame[i] = 1;
    out[0] = frame[1023];
}
"#;

fn emulator() -> Emulator {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    let sources = Sources::read(&kernels).unwrap().only("launches.cu").with("launches.cu", KERNELS);
    let library = sources.compile(&[]).unwrap_or_else(|error| panic!("{error}"));
    Emulator::load(&library).unwrap()
}

fn address(address: u64) -> [u8; 8] {
    address.to_ne_bytes()
}

fn number(number: u32) -> [u8; 8] {
    u64::from(number).to_ne_bytes()
}

fn call<'a>(name: &'a str, grid: u32, threads: u32, arguments: &'a [[u8; 8]]) -> Call<'a> {
    Call { name, grid: [grid, 1, 1], block: [threads, 1, 1], shared_bytes: 128, arguments }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_ne_bytes(word)).collect()
}

/// Which number each of 2 x 64 threads took.
fn numbers(emulator: &Emulator, order: Order) -> Vec<u32> {
    let mut counter = emulator.allocate(4, Guard::Behind).unwrap();
    counter.write(&[0; 4]);
    let out = emulator.allocate(4 * 128, Guard::Behind).unwrap();
    let arguments = [address(counter.address()), address(out.address())];
    emulator.launch(&call("order", 2, 64, &arguments), order).unwrap();
    words(&out.read())
}

#[test]
fn threads_run_forward_in_reverse_and_shuffled_by_a_seed() {
    let emulator = emulator();
    let ascending: Vec<u32> = (0..128).collect();
    assert_eq!(numbers(&emulator, Order::Forward), ascending);
    assert!(numbers(&emulator, Order::Reverse).into_iter().rev().eq(0..128));
    let shuffled = numbers(&emulator, Order::Shuffled(7));
    assert_eq!(numbers(&emulator, Order::Shuffled(7)), shuffled);
    assert_ne!(numbers(&emulator, Order::Shuffled(8)), shuffled);
    let mut sorted = shuffled.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ascending);
}

#[test]
fn what_nobody_wrote_is_nan_in_every_block() {
    let emulator = emulator();
    let out = emulator.allocate(4 * 64, Guard::Behind).unwrap();
    assert!(words(&out.read()).iter().all(|&word| f32::from_bits(word).is_nan()));
    // The last block finds nothing of what the first one wrote.
    emulator.launch(&call("unwritten", 3, 32, &[address(out.address())]), Order::Forward).unwrap();
    assert!(words(&out.read()).iter().all(|&word| f32::from_bits(word).is_nan()));
}

#[test]
fn lanes_exchange_within_the_width_that_is_said() {
    let emulator = emulator();
    let out = emulator.allocate(4 * 32, Guard::Behind).unwrap();
    emulator.launch(&call("neighbours", 1, 32, &[address(out.address())]), Order::Shuffled(3)).unwrap();
    let expected: Vec<u32> = (0..32).map(|lane| if lane % 16 == 15 { lane } else { lane + 1 }).collect();
    assert_eq!(words(&out.read()), expected);
}

#[test]
fn a_stray_access_ends_the_kernel_and_the_next_one_runs() {
    let emulator = emulator();
    for (guard, place) in [(Guard::Behind, 3), (Guard::Before, u32::MAX)] {
        let out = emulator.allocate(4 * 3, guard).unwrap();
        // In front of memory that begins at a guard page; behind memory that ends at one.
        let start = if place == u32::MAX { out.address() - 4 } else { out.address() };
        let place = if place == u32::MAX { 0 } else { place };
        let stopped =
            emulator.launch(&call("write_at", 1, 32, &[address(start), number(place)]), Order::Forward);
        let text = stopped.unwrap_err().to_string();
        assert_eq!(text, "write_at: an access outside of memory by thread (0, 0, 0) of block (0, 0, 0)");
        emulator
            .launch(&call("write_at", 1, 32, &[address(out.address()), number(2)]), Order::Forward)
            .unwrap();
    }
}

#[test]
fn a_stack_that_overflows_ends_the_kernel() {
    let emulator = emulator();
    let out = emulator.allocate(4, Guard::Behind).unwrap();
    let stopped = emulator.launch(&call("overflow", 1, 32, &[address(out.address())]), Order::Forward);
    assert!(stopped.unwrap_err().to_string().contains("an access outside of memory"));
}

#[test]
fn a_launch_that_no_device_would_take_is_refused() {
    let emulator = emulator();
    let refused = |call: Call<'_>| emulator.launch(&call, Order::Forward).unwrap_err().to_string();
    let arguments = [[0; 8]; 1];
    assert_eq!(refused(call("nothing", 1, 32, &arguments)), "nothing: there is no entry point of this name");
    assert_eq!(refused(call("order", 1, 32, &arguments)), "order: 1 arguments for 2 parameters");
    let one = "neighbours: a block of 33 threads is not a multiple of 32 up to 1,024";
    assert_eq!(refused(call("neighbours", 1, 33, &arguments)), one);
    assert_eq!(refused(call("neighbours", 0, 32, &arguments)), "neighbours: the grid is empty");
    let much = Call { shared_bytes: 1 << 20, ..call("neighbours", 1, 32, &arguments) };
    assert_eq!(refused(much), "neighbours: more dynamic shared memory than a device has");
    assert_eq!(emulator.parameter_sizes("write_at"), Some(vec![8, 4]));
    assert_eq!(emulator.parameter_sizes("nothing"), None);
}
