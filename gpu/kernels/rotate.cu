// Queries and keys: the norm of each head, then its rotation by position; the table of cosines and sines; the gradients.
//
// Launch: rotate and rotate_backward have half a warp a head of a row, eight heads a block of 128 threads. A head's halves
// are multiples of sixteen, so both numbers of a pair belong to one lane. rope_table has a block row a position, head_gain
// a block row a sequence, both a channel a thread.
// Order: sums over a head are fused steps in sixteen strided lanes, then the tree. A gain's gradient is a chain over the
// rows of a sequence and, within a row, over the heads that have the gain.
// Checked: bit by bit against gpu/src/transformer/{rope,rotate}.rs, in every execution order.

#include "lanes.cuh"
#include "math.cuh"

#define ROTATE_THREADS 128u

extern "C" __global__ void __launch_bounds__(ROTATE_THREADS)
rope_table(const float *frequencies, unsigned context, unsigned half, float *table) {
    const unsigned position = blockIdx.x, i = blockIdx.y * ROTATE_THREADS + threadIdx.x;
    if (i >= half) return;
    float *row = row_of(table, position, 2 * half);
    exact_sin_cos((float)position * frequencies[i], row + half + i, row + i);
}

extern "C" __global__ void __launch_bounds__(ROTATE_THREADS)
rotate(const float *x, unsigned stride, const float *query_gain, const float *key_gain, float eps, const float *table,
       const unsigned *positions, unsigned rows, unsigned queries, unsigned keys, unsigned head_dim, float *hat,
       float *inverse, float *out, unsigned *faults, unsigned *halt, unsigned code) {
    const unsigned lane = threadIdx.x % LANES, heads = queries + keys, half = head_dim / 2;
    const unsigned at = blockIdx.x * (ROTATE_THREADS / LANES) + threadIdx.x / LANES;
    const unsigned row = at / heads, head = at % heads;
    const bool present = row < rows;
    const float *from = row_of(x, row, stride) + head * head_dim;
    float sum = 0.0f;
    if (present) {
        for (unsigned c = lane; c < head_dim; c += LANES) sum = fmaf(from[c], from[c], sum);
    }
    const float mean = lanes_sum(sum) / (float)head_dim;
    if (!present) return;
    if (lane == 0 && !is_finite(mean)) refuse(faults, row, code, halt);
    const float factor = exact_rsqrt(mean + eps);
    if (lane == 0) inverse[at] = factor;
    const float *gain = head < queries ? query_gain : key_gain;
    const float *cosines = row_of(table, positions[row], head_dim), *sines = cosines + half;
    float *hats = row_of(hat, at, head_dim), *outs = row_of(out, at, head_dim);
    for (unsigned c = lane; c < half; c += LANES) {
        const float first = from[c] * factor, second = from[c + half] * factor;
        hats[c] = first;
        hats[c + half] = second;
        const float a = first * gain[c], b = second * gain[c + half];
        outs[c] = a * cosines[c] - b * sines[c];
        outs[c + half] = b * cosines[c] + a * sines[c];
    }
}

extern "C" __global__ void __launch_bounds__(ROTATE_THREADS)
rotate_backward(float *dheads, const float *hat, const float *inverse, const float *query_gain, const float *key_gain,
                const float *table, const unsigned *positions, unsigned rows, unsigned queries, unsigned keys,
                unsigned head_dim, float *dx, unsigned stride) {
    const unsigned lane = threadIdx.x % LANES, heads = queries + keys, half = head_dim / 2;
    const unsigned at = blockIdx.x * (ROTATE_THREADS / LANES) + threadIdx.x / LANES;
    const unsigned row = at / heads, head = at % heads;
    const bool present = row < rows;
    const float *gain = head < queries ? query_gain : key_gain;
    float *douts = row_of(dheads, at, head_dim);
    const float *hats = row_of(hat, at, head_dim);
    float sum = 0.0f;
    if (present) {
        const float *cosines = row_of(table, positions[row], head_dim), *sines = cosines + half;
        for (unsigned c = lane; c < half; c += LANES) {
            const float a = douts[c], b = douts[c + half];
            douts[c] = a * cosines[c] + b * sines[c];
            douts[c + half] = b * cosines[c] - a * sines[c];
        }
        for (unsigned c = lane; c < head_dim; c += LANES) sum = fmaf(douts[c] * gain[c], hats[c], sum);
    }
    const float minus_mean = -(lanes_sum(sum) / (float)head_dim);
    if (!present) return;
    float *to = row_of(dx, row, stride) + head * head_dim;
    for (unsigned c = lane; c < head_dim; c += LANES) {
        const float inner = fmaf(hats[c], minus_mean, douts[c] * gain[c]);
        to[c] = fmaf(inner, inverse[at], 0.0f);
    }
}

extern "C" __global__ void __launch_bounds__(ROTATE_THREADS)
head_gain(const float *dheads, const float *hat, const unsigned *starts, unsigned sequences, unsigned heads, unsigned first,
          unsigned count, unsigned head_dim, float *parts, unsigned parts_stride) {
    const unsigned sequence = blockIdx.x, c = blockIdx.y * ROTATE_THREADS + threadIdx.x;
    if (c >= head_dim) return;
    float part = 0.0f;
    for (unsigned row = starts[sequence]; row < starts[sequence + 1]; row++) {
        for (unsigned head = first; head < first + count; head++) {
            const unsigned at = row * heads + head;
            part = fmaf(row_of(dheads, at, head_dim)[c], row_of(hat, at, head_dim)[c], part);
        }
    }
    row_of(parts, sequence, parts_stride)[c] = part;
}
