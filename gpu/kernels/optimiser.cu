// The optimiser's step: what is not finite, the gradient's global norm and its clipping, AdamW, the running mean of weights.
//
// Launch: an element a thread, blocks of 256; squares has a block a tensor, clip one warp of which one thread works.
// Order: squares of a tensor in double precision, sixteen strided lanes, then the tree: the block stages a tile in shared
// memory, its first warp adds it up in order. Tensors are added in order. Everything else is a line of separate operations
// on one element, nothing fused.
// Checked: bit by bit against gpu/src/optim, in every execution order.

#include "lanes.cuh"

#define STEP_THREADS 256u
#define SQUARES_TILE 4096u

extern "C" __global__ void __launch_bounds__(STEP_THREADS)
first_not_finite(const float *values, unsigned long long count, unsigned long long *place, unsigned *halt) {
    const unsigned long long i = (unsigned long long)blockIdx.x * STEP_THREADS + threadIdx.x;
    if (i < count && !is_finite(values[i])) {
        atomicMin(place, i);
        atomicOr(halt, 1u);
    }
}

extern "C" __global__ void __launch_bounds__(STEP_THREADS)
squares(const float *values, const unsigned long long *starts, unsigned tensors, double *sums) {
    __shared__ float tile[SQUARES_TILE];
    const unsigned long long end = starts[blockIdx.x + 1];
    double sum = 0.0;
    for (unsigned long long first = starts[blockIdx.x]; first < end; first += SQUARES_TILE) {
        const unsigned count = end - first < SQUARES_TILE ? (unsigned)(end - first) : SQUARES_TILE;
        for (unsigned i = threadIdx.x; i < count; i += STEP_THREADS) tile[i] = values[first + i];
        __syncthreads();
        if (threadIdx.x < warpSize) {
            for (unsigned i = threadIdx.x % LANES; i < count; i += LANES) sum = sum + (double)tile[i] * (double)tile[i];
        }
        __syncthreads();
    }
    if (threadIdx.x < warpSize) {
        sum = lanes_sum(sum);
        if (threadIdx.x == 0) sums[blockIdx.x] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(32)
clip(const double *sums, unsigned tensors, float bound, double *norm, float *scale) {
    if (threadIdx.x != 0) return;
    double sum = 0.0;
    for (unsigned tensor = 0; tensor < tensors; tensor++) sum = sum + sums[tensor];
    const double root = sqrt(sum);
    *norm = root;
    *scale = root > (double)bound ? (float)((double)bound / root) : 1.0f;
}

extern "C" __global__ void __launch_bounds__(STEP_THREADS)
adamw(float *values, const float *gradients, float *first, float *second, const unsigned char *decays,
      unsigned long long count, const float *scale, float decay, float beta1, float beta2, float step_size,
      float root_correction, float epsilon, const unsigned *halt) {
    const unsigned long long i = (unsigned long long)blockIdx.x * STEP_THREADS + threadIdx.x;
    if (i >= count || *halt != 0u) return;
    const float gradient = gradients[i] * *scale;
    const float m = first[i] * beta1 + gradient * (1.0f - beta1);
    const float v = second[i] * beta2 + gradient * gradient * (1.0f - beta2);
    const float spread = sqrtf(v) / root_correction + epsilon;
    const float kept = decays[i / LANES] != 0 ? decay : 1.0f;
    first[i] = m;
    second[i] = v;
    values[i] = values[i] * kept - step_size * (m / spread);
}

extern "C" __global__ void __launch_bounds__(STEP_THREADS)
average(const float *values, float *mean, unsigned long long count, float steps, const unsigned *halt) {
    const unsigned long long i = (unsigned long long)blockIdx.x * STEP_THREADS + threadIdx.x;
    if (i >= count || *halt != 0u) return;
    mean[i] = mean[i] + (values[i] - mean[i]) / steps;
}
