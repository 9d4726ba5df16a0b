// Checkpoints in half the size: f32 to bf16 and back.
//
// Launch: an element a thread, blocks of 256.
// Order: no sums. Rounding to nearest, ties to even, on bit patterns; a NaN keeps its sign and upper bits and becomes quiet.
// Checked: bit by bit against the half crate, which reads and writes checkpoints on the host.

#include "prelude.cuh"

#define CONVERT_THREADS 256u

extern "C" __global__ void __launch_bounds__(CONVERT_THREADS)
to_bf16(const float *values, unsigned long long count, unsigned short *out) {
    const unsigned long long i = (unsigned long long)blockIdx.x * CONVERT_THREADS + threadIdx.x;
    if (i >= count) return;
    const unsigned bits = __float_as_uint(values[i]), upper = bits >> 16;
    const unsigned half = 0x8000u, below_or_odd = 3u * half - 1u;
    const bool rounds_up = (bits & half) != 0u && (bits & below_or_odd) != 0u;
    out[i] = (unsigned short)(is_nan(values[i]) ? upper | 0x40u : upper + (rounds_up ? 1u : 0u));
}

extern "C" __global__ void __launch_bounds__(CONVERT_THREADS)
from_bf16(const unsigned short *values, unsigned long long count, float *out) {
    const unsigned long long i = (unsigned long long)blockIdx.x * CONVERT_THREADS + threadIdx.x;
    if (i < count) out[i] = __uint_as_float((unsigned)values[i] << 16);
}
