// From logits to log-probabilities and entropies, DPPO's decision on every token, and the gradient of the logits in place.
//
// Launch: log_softmax and logit_gradient have a block of 256 threads a row of logits; token_gradient a token a thread.
// Order: the largest logit in any order (of finite values it is the same but for the sign of a zero, which is taken away).
// The sums of the weights and of weight times shifted logit run in sixteen strided lanes, then the tree: the block computes
// a tile of weights into shared memory, its first warp adds them up in order. Terms of weight 0 are left out of the second.
// Checked: bit by bit against gpu/src/sample.rs, gpu/src/dppo and gpu/src/transformer/head.rs, in every execution order.

#include "lanes.cuh"
#include "math.cuh"

#define ROW_THREADS 256u
#define ROW_WARPS 8u
#define ROW_TILE 1024u
#define TOKEN_THREADS 128u

// What a block that has a row of logits shares.
struct RowState {
    float weights[ROW_TILE], shifted[ROW_TILE];
    float warp_largest[ROW_WARPS];
    // The token's logit, shifted.
    float own;
    // The lowest place of the largest logit.
    unsigned best;
    unsigned refused;
};

// Scales the row in place and returns its largest value to every thread; notes what is not finite.
DEVICE float scaled_largest(float *row, unsigned vocab, float temperature, RowState &state) {
    float largest = -INFINITE;
    for (unsigned i = threadIdx.x; i < vocab; i += ROW_THREADS) {
        const float scaled = temperature > 0.0f ? row[i] / temperature : row[i];
        row[i] = scaled;
        if (!is_finite(scaled)) atomicOr(&state.refused, 1u);
        largest = scaled > largest ? scaled : largest;
    }
    for (unsigned distance = warpSize / 2; distance > 0; distance /= 2) {
        const float other = __shfl_down_sync(WHOLE_WARP, largest, distance, 32);
        largest = other > largest ? other : largest;
    }
    if (threadIdx.x % warpSize == 0) state.warp_largest[threadIdx.x / warpSize] = largest;
    __syncthreads();
    largest = state.warp_largest[0];
    for (unsigned warp = 1; warp < ROW_WARPS; warp++) {
        largest = state.warp_largest[warp] > largest ? state.warp_largest[warp] : largest;
    }
    return largest + 0.0f;
}

// Replaces logits by weights. The first warp returns both sums, the others something else.
DEVICE void weigh(float *row, unsigned vocab, unsigned token, float largest, RowState &state, float *sum_out,
                  float *weighted_out) {
    float sum = 0.0f, weighted = 0.0f;
    for (unsigned first = 0; first < vocab; first += ROW_TILE) {
        const unsigned count = vocab - first < ROW_TILE ? vocab - first : ROW_TILE;
        for (unsigned i = threadIdx.x; i < count; i += ROW_THREADS) {
            const float shifted = row[first + i] - largest, weight = exact_exp(shifted);
            row[first + i] = weight;
            state.weights[i] = weight;
            state.shifted[i] = shifted;
            if (first + i == token) state.own = shifted;
        }
        __syncthreads();
        if (threadIdx.x < warpSize) {
            for (unsigned i = threadIdx.x % LANES; i < count; i += LANES) {
                const float weight = state.weights[i];
                sum = sum + weight;
                weighted = 0.0f < weight ? fmaf(weight, state.shifted[i], weighted) : weighted;
            }
        }
        __syncthreads();
    }
    *sum_out = lanes_sum(sum);
    *weighted_out = lanes_sum(weighted);
}

// All probability on the largest logit, of equal ones on the lowest place.
DEVICE void greedy(float *row, unsigned vocab, float largest, RowState &state) {
    for (unsigned i = threadIdx.x; i < vocab; i += ROW_THREADS) {
        if (row[i] == largest) atomicMin(&state.best, i);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < vocab; i += ROW_THREADS) row[i] = i == state.best ? 1.0f : 0.0f;
}

extern "C" __global__ void __launch_bounds__(ROW_THREADS)
log_softmax(float *logits, unsigned vocab, unsigned rows, const unsigned *tokens, float temperature, float *log_probs,
            float *entropies, float *sums, unsigned *faults, unsigned *halt, unsigned code) {
    __shared__ RowState state;
    const unsigned index = blockIdx.x, token = tokens[index];
    float *row = row_of(logits, index, vocab);
    if (threadIdx.x == 0) {
        state.best = 0xffffffffu;
        state.refused = 0u;
    }
    __syncthreads();
    const float largest = scaled_largest(row, vocab, temperature, state);
    float log_prob, entropy = 0.0f, sum = 1.0f;
    if (temperature > 0.0f) {
        float weighted;
        weigh(row, vocab, token, largest, state, &sum, &weighted);
        const float log_sum = exact_ln(sum);
        log_prob = state.own - log_sum;
        entropy = log_sum - weighted / sum;
        entropy = entropy > 0.0f ? entropy : 0.0f;
    } else {
        greedy(row, vocab, largest, state);
        log_prob = token == state.best ? 0.0f : -INFINITE;
    }
    if (threadIdx.x == 0) {
        log_probs[index] = log_prob;
        entropies[index] = entropy;
        sums[index] = sum;
        if (state.refused != 0u) refuse(faults, index, code, halt);
    }
}

#define CROSS_ENTROPY 0u
#define DPPO_TV 1u

// A token's fate.
struct Judged {
    float ratio;
    bool keep;
    bool refused;
};

// What rounding put above 0 is taken back; more than that refuses the token.
DEVICE float at_most_zero(float log_prob, bool *refused) {
    if (is_nan(log_prob) || log_prob > 1e-6f) *refused = true;
    return log_prob > 0.0f ? 0.0f : log_prob;
}

// q ln(q/p) + (1-q) ln((1-q)/(1-p)) with 0 ln 0 = 0.
DEVICE float binary_kl(float log_q, float log_p, float q, float p) {
    const float own = q * (log_q - log_p), not_q = 1.0f - q;
    const float others = not_q > 0.0f ? not_q * (exact_ln(not_q) - exact_ln(1.0f - p)) : 0.0f;
    return own + others;
}

DEVICE Judged judge(float log_prob, float rollout, float advantage, unsigned objective, float delta_low, float delta_high) {
    Judged judged = {0.0f, false, !is_finite(advantage)};
    const float log_p = at_most_zero(log_prob, &judged.refused), log_q = at_most_zero(rollout, &judged.refused);
    const float p = exact_exp(log_p), q = exact_exp(log_q);
    if (!(q > 0.0f)) judged.refused = true;
    judged.ratio = p > 0.0f ? exact_exp(log_p - log_q) : 0.0f;
    if (!is_finite(judged.ratio)) judged.refused = true;
    bool drop;
    if (objective == DPPO_TV) {
        drop = advantage > 0.0f ? p - q > delta_high : p - q < -delta_low;
    } else {
        const float divergence = binary_kl(log_q, log_p, q, p);
        drop = advantage > 0.0f ? p > q && divergence > delta_high : p < q && divergence > delta_low;
    }
    judged.keep = !drop;
    return judged;
}

extern "C" __global__ void __launch_bounds__(TOKEN_THREADS)
token_gradient(const float *log_probs, const float *rollout_log_probs, const float *advantages, const float *weights,
               unsigned count, unsigned objective, float divisor, float delta_low, float delta_high, float *gradients,
               unsigned *keep, unsigned *halt) {
    const unsigned i = blockIdx.x * TOKEN_THREADS + threadIdx.x;
    if (i >= count) return;
    if (objective == CROSS_ENTROPY) {
        gradients[i] = -(weights[i] / divisor);
        keep[i] = 1u;
        return;
    }
    const float advantage = advantages[i];
    const Judged judged = judge(log_probs[i], rollout_log_probs[i], advantage, objective, delta_low, delta_high);
    const float gradient = judged.keep && judged.ratio > 0.0f ? -(advantage * judged.ratio) / divisor : 0.0f;
    if (judged.refused || !is_finite(gradient)) atomicOr(halt, 1u);
    gradients[i] = gradient * weights[i];
    keep[i] = judged.keep ? 1u : 0u;
}

extern "C" __global__ void __launch_bounds__(ROW_THREADS)
logit_gradient(float *logits, unsigned vocab, unsigned rows, const unsigned *tokens, const float *sums,
               const float *gradients, float temperature) {
    const unsigned index = blockIdx.x, token = tokens[index];
    float *row = row_of(logits, index, vocab);
    const bool none = gradients[index] == 0.0f;
    const float gradient = gradients[index] / temperature, sum = sums[index];
    for (unsigned i = threadIdx.x; i < vocab; i += ROW_THREADS) {
        const float target = i == token ? 1.0f : 0.0f;
        row[i] = none ? 0.0f : gradient * (target - row[i] / sum);
    }
}
