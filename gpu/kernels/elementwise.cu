// The gated unit, act = silu(gate) up with silu(g) = g / (1 + e^-g), its gradient; sums of two vectors.
//
// Launch: an element a thread, blocks of 256; the gated unit has a block row a row.
// Order: no sums but of two numbers.
// Checked: bit by bit against gpu/src/transformer/feed_forward.rs, in every execution order.

#include "math.cuh"

#define ELEMENT_THREADS 256u

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
gated(const float *gate_up, unsigned rows, unsigned hidden, float *act) {
    const unsigned row = blockIdx.x, c = blockIdx.y * ELEMENT_THREADS + threadIdx.x;
    if (c >= hidden) return;
    const float *from = row_of(gate_up, row, 2 * hidden);
    const float gate = from[c], up = from[hidden + c];
    row_of(act, row, hidden)[c] = gate * exact_sigmoid(gate) * up;
}

// With s = sigmoid(g): dgate = dact up s (1 + g (1 - s)), dup = dact g s.
extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
gated_backward(const float *dact, float *gate_up, unsigned rows, unsigned hidden) {
    const unsigned row = blockIdx.x, c = blockIdx.y * ELEMENT_THREADS + threadIdx.x;
    if (c >= hidden) return;
    float *gates = row_of(gate_up, row, 2 * hidden);
    const float g = gates[c], u = gates[hidden + c], d = row_of(dact, row, hidden)[c];
    const float s = exact_sigmoid(g);
    const float slope = fmaf(g, 1.0f - s, 1.0f) * s;
    gates[c] = d * u * slope;
    gates[hidden + c] = d * (g * s);
}

extern "C" __global__ void __launch_bounds__(ELEMENT_THREADS)
add(const float *from, unsigned long long count, float *out) {
    const unsigned long long i = (unsigned long long)blockIdx.x * ELEMENT_THREADS + threadIdx.x;
    if (i < count) out[i] = out[i] + from[i];
}
