// The root-mean-square norm: hat = x / sqrt(mean(x^2) + eps), out = hat gain; its gradients.
//
// Launch: rms_norm and norm_backward have half a warp a row, eight rows a block of 128 threads; norm_gain and gain_sum have
// a channel a thread, norm_gain a block row a sequence.
// Order: the sums over a row are fused steps in sixteen strided lanes, then the tree. The gain's gradient is a chain over
// the rows of a sequence from 0; the sequences' results are added in their order.
// Checked: bit by bit against gpu/src/transformer/{norm,gradient}.rs, in every execution order.

#include "lanes.cuh"
#include "math.cuh"

#define NORM_THREADS 128u

extern "C" __global__ void __launch_bounds__(NORM_THREADS)
rms_norm(const float *x, const float *gain, float eps, unsigned rows, unsigned width, float *hat, float *inverse,
         float *out, unsigned *faults, unsigned *halt, unsigned code) {
    const unsigned lane = threadIdx.x % LANES;
    const unsigned row = blockIdx.x * (NORM_THREADS / LANES) + threadIdx.x / LANES;
    const bool present = row < rows;
    float sum = 0.0f;
    if (present) {
        const float *from = row_of(x, row, width);
        for (unsigned c = lane; c < width; c += LANES) sum = fmaf(from[c], from[c], sum);
    }
    const float mean = lanes_sum(sum) / (float)width;
    if (!present) return;
    if (lane == 0 && !is_finite(mean)) refuse(faults, row, code, halt);
    const float factor = exact_rsqrt(mean + eps);
    if (lane == 0) inverse[row] = factor;
    for (unsigned c = lane; c < width; c += LANES) {
        const float normal = row_of(x, row, width)[c] * factor;
        row_of(hat, row, width)[c] = normal;
        row_of(out, row, width)[c] = normal * gain[c];
    }
}

extern "C" __global__ void __launch_bounds__(NORM_THREADS)
norm_backward(const float *dout, const float *hat, const float *inverse, const float *gain, unsigned rows, unsigned width,
              float *dx) {
    const unsigned lane = threadIdx.x % LANES;
    const unsigned row = blockIdx.x * (NORM_THREADS / LANES) + threadIdx.x / LANES;
    const bool present = row < rows;
    const float *douts = row_of(dout, row, width), *hats = row_of(hat, row, width);
    float sum = 0.0f;
    if (present) {
        for (unsigned c = lane; c < width; c += LANES) sum = fmaf(douts[c] * gain[c], hats[c], sum);
    }
    const float minus_mean = -(lanes_sum(sum) / (float)width);
    if (!present) return;
    for (unsigned c = lane; c < width; c += LANES) {
        const float inner = fmaf(hats[c], minus_mean, douts[c] * gain[c]);
        float *to = row_of(dx, row, width) + c;
        *to = fmaf(inner, inverse[row], *to);
    }
}

extern "C" __global__ void __launch_bounds__(NORM_THREADS)
norm_gain(const float *dout, const float *hat, const unsigned *starts, unsigned sequences, unsigned width, float *parts,
          unsigned parts_stride) {
    const unsigned sequence = blockIdx.x, c = blockIdx.y * NORM_THREADS + threadIdx.x;
    if (c >= width) return;
    float part = 0.0f;
    for (unsigned row = starts[sequence]; row < starts[sequence + 1]; row++) {
        part = fmaf(row_of(dout, row, width)[c], row_of(hat, row, width)[c], part);
    }
    row_of(parts, sequence, parts_stride)[c] = part;
}

extern "C" __global__ void __launch_bounds__(NORM_THREADS)
gain_sum(const float *parts, unsigned parts_stride, unsigned sequences, unsigned width, float *out) {
    const unsigned c = blockIdx.x * NORM_THREADS + threadIdx.x;
    if (c >= width) return;
    float sum = out[c];
    for (unsigned sequence = 0; sequence < sequences; sequence++) sum = sum + row_of(parts, sequence, parts_stride)[c];
    out[c] = sum;
}
