// What every kernel begins with. Under a CUDA compiler there is nothing to include; elsewhere the emulator's shim stands
// in for the language.
#pragma once

#if !defined(__CUDACC__)
#include "shim.hpp"
#endif

// Dynamic shared memory of the block, as numbers.
#if defined(__CUDACC__)
#define DYNAMIC_SHARED(name) extern __shared__ float name[]
#else
#define DYNAMIC_SHARED(name) float *const name = emulator::dynamic_shared()
#endif

#define DEVICE static __device__ __forceinline__

// The first element of row `row` of rows `stride` apart; rows times stride may exceed 32 bits.
template <class T>
DEVICE T *row_of(T *first, unsigned row, unsigned stride) {
    return first + (unsigned long long)row * stride;
}

DEVICE bool is_finite(float x) { return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u; }

DEVICE bool is_nan(float x) { return (__float_as_uint(x) & 0x7fffffffu) > 0x7f800000u; }

// Notes that a result of `row` is not finite. The smallest code stays, in whatever order they come.
DEVICE void refuse(unsigned *faults, unsigned row, unsigned code, unsigned *halt) {
    atomicMin(faults + row, code);
    atomicOr(halt, 1u);
}
