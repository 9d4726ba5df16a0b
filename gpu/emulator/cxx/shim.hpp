// The part of CUDA C++ that the kernels use, in plain C++20: what a kernel sees of the emulator.
//
// Each CUDA thread is a fiber; all fibers of a block run on one processor thread, one at a time, and give way at barriers
// and warp operations alone. `__shared__` variables are statics in a section of their own, poisoned before each block.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <source_location>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static __attribute__((section("emulated_shared")))

struct Place3 {
    unsigned x, y, z;
};

// Of the fiber that runs.
extern Place3 threadIdx, blockIdx, blockDim, gridDim;
static constexpr unsigned warpSize = 32;

namespace emulator {

using Site = std::source_location;

float *dynamic_shared();
void barrier(Site site);
// Hands `bits` in and returns what lane `source` of the fiber's warp handed in at the same site.
uint64_t exchange(uint64_t bits, unsigned mask, unsigned source, Site site);
unsigned lane();

template <class T>
T shuffle(unsigned mask, T value, unsigned source, Site site) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    return std::bit_cast<T>(static_cast<Bits>(exchange(std::bit_cast<Bits>(value), mask, source, site)));
}

// An entry point: its name, the sizes of its parameters, and a call with pointers to their values.
struct Entry {
    const char *name;
    const unsigned *sizes;
    unsigned count;
    void (*call)(void **);
};

template <auto Kernel>
struct Bound;

template <class... P, void (*Kernel)(P...)>
struct Bound<Kernel> {
    static constexpr unsigned sizes[] = {sizeof(P)...};

    template <size_t... I>
    static void pass(void **arguments, std::index_sequence<I...>) {
        Kernel(*static_cast<P *>(arguments[I])...);
    }
    static void call(void **arguments) { pass(arguments, std::index_sequence_for<P...>{}); }
    static constexpr Entry entry(const char *name) { return {name, sizes, sizeof...(P), call}; }
};

#define EMULATOR_ENTRY(name) emulator::Bound<name>::entry(#name)

// Every entry point of this library; the table is written by whoever compiles it.
extern const Entry entries[];
extern const size_t entry_count;

}  // namespace emulator

inline void __syncthreads(emulator::Site site = emulator::Site::current()) { emulator::barrier(site); }

template <class T>
T __shfl_sync(unsigned mask, T value, unsigned source, unsigned width = warpSize,
              emulator::Site site = emulator::Site::current()) {
    const unsigned base = emulator::lane() / width * width;
    return emulator::shuffle(mask, value, base + source % width, site);
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, unsigned width = warpSize,
                   emulator::Site site = emulator::Site::current()) {
    const unsigned own = emulator::lane();
    return emulator::shuffle(mask, value, own % width + delta < width ? own + delta : own, site);
}

// Fibers give way at barriers and warp operations alone, so plain reads and writes are atomic.
template <class T>
T atomicMin(T *place, T value) {
    const T old = *place;
    *place = value < old ? value : old;
    return old;
}

inline unsigned atomicOr(unsigned *place, unsigned value) {
    const unsigned old = *place;
    *place = old | value;
    return old;
}

inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
