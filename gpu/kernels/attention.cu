// Attention in two passes, no online rescaling: all scores of a query, their largest, their weights and sum; then the
// weighted values. Forward over a cache of pages of sixteen positions, backward over the rows of whole sequences.
//
// Launch: attend and attend_backward have a block of 128 threads a row and query head, with the scores of that row in
// dynamic shared memory; attend_backward_keys a block a row and key-value head; remember a block a row.
// Order: a score is a chain over channels from 0. Largest and sum of weights run over positions in sixteen strided lanes,
// then the tree. A weighted value is a chain over positions from 0, divided by the sum at the end. The gradient of a query
// is a chain over positions; those of a key and a value are chains over the rows that see them, in order of position and,
// within a position, of query head.
// Checked: bit by bit against gpu/src/transformer/attention, in every execution order.

#include "lanes.cuh"
#include "math.cuh"

#define ATTEND_THREADS 128u
#define PAGE 16u

// Where the keys of a key-value head of a page begin; its values follow them.
DEVICE unsigned long long page_place(unsigned page, unsigned page_stride, unsigned layer_offset, unsigned head,
                                     unsigned head_dim) {
    return (unsigned long long)page * page_stride + layer_offset + head * 2 * PAGE * head_dim;
}

extern "C" __global__ void __launch_bounds__(ATTEND_THREADS)
remember(const float *heads, const float *values, unsigned values_stride, const unsigned *positions, const unsigned *slots,
         const unsigned *tables, unsigned table_stride, unsigned rows, unsigned queries, unsigned keys, unsigned head_dim,
         float *cache, unsigned page_stride, unsigned layer_offset) {
    const unsigned row = blockIdx.x, position = positions[row], lane = position % PAGE;
    const unsigned page = row_of(tables, slots[row], table_stride)[position / PAGE];
    const float *key = row_of(heads, row, (queries + keys) * head_dim) + queries * head_dim;
    const float *value = row_of(values, row, values_stride);
    for (unsigned i = threadIdx.x; i < keys * head_dim; i += ATTEND_THREADS) {
        const unsigned head = i / head_dim, c = i % head_dim;
        float *place = cache + page_place(page, page_stride, layer_offset, head, head_dim);
        place[c * PAGE + lane] = key[i];
        place[PAGE * head_dim + lane * head_dim + c] = value[i];
    }
}

extern "C" __global__ void __launch_bounds__(ATTEND_THREADS)
attend(const float *heads, const float *cache, unsigned page_stride, unsigned layer_offset, const unsigned *positions,
       const unsigned *slots, const unsigned *tables, unsigned table_stride, unsigned rows, unsigned queries, unsigned keys,
       unsigned head_dim, float scale, unsigned longest, float *out, float *stats, unsigned *faults, unsigned *halt,
       unsigned code) {
    DYNAMIC_SHARED(shared);
    __shared__ float row_largest, row_sum;
    float *scores = shared, *query = shared + longest;
    const unsigned row = blockIdx.x, head = blockIdx.y, kv_head = head / (queries / keys);
    const unsigned length = positions[row] + 1;
    const unsigned *table = row_of(tables, slots[row], table_stride);
    const float *from = row_of(heads, row, (queries + keys) * head_dim) + head * head_dim;
    for (unsigned c = threadIdx.x; c < head_dim; c += ATTEND_THREADS) query[c] = from[c];
    __syncthreads();

    for (unsigned j = threadIdx.x; j < length; j += ATTEND_THREADS) {
        const float *key = cache + page_place(table[j / PAGE], page_stride, layer_offset, kv_head, head_dim) + j % PAGE;
        float score = 0.0f;
        for (unsigned c = 0; c < head_dim; c++) score = fmaf(query[c], key[c * PAGE], score);
        scores[j] = score * scale;
    }
    __syncthreads();

    if (threadIdx.x < warpSize) {
        float largest = -INFINITE;
        for (unsigned j = threadIdx.x % LANES; j < length; j += LANES) {
            largest = scores[j] > largest ? scores[j] : largest;
        }
        largest = lanes_largest(largest);
        if (threadIdx.x == 0) row_largest = largest;
    }
    __syncthreads();

    for (unsigned j = threadIdx.x; j < length; j += ATTEND_THREADS) scores[j] = exact_exp(scores[j] - row_largest);
    __syncthreads();

    if (threadIdx.x < warpSize) {
        float sum = 0.0f;
        for (unsigned j = threadIdx.x % LANES; j < length; j += LANES) sum = sum + scores[j];
        sum = lanes_sum(sum);
        if (threadIdx.x == 0) {
            row_sum = sum;
            float *stat = row_of(stats, row * queries + head, 2);
            stat[0] = row_largest;
            stat[1] = sum;
            if (!is_finite(sum)) refuse(faults, row, code, halt);
        }
    }
    __syncthreads();

    for (unsigned c = threadIdx.x; c < head_dim; c += ATTEND_THREADS) {
        float acc = 0.0f;
        for (unsigned first = 0; first < length; first += PAGE) {
            const float *keys_and_values =
                cache + page_place(table[first / PAGE], page_stride, layer_offset, kv_head, head_dim);
            const float *value = keys_and_values + PAGE * head_dim + c;
            const unsigned count = length - first < PAGE ? length - first : PAGE;
            for (unsigned j = 0; j < count; j++) acc = fmaf(scores[first + j], value[j * head_dim], acc);
        }
        row_of(out, row * queries + head, head_dim)[c] = acc / row_sum;
    }
}

// With weights p = exp(s scale - largest) / sum and D = dout . out: ds = p (dout . value - D) scale; dquery = sum of ds key.
extern "C" __global__ void __launch_bounds__(ATTEND_THREADS)
attend_backward(const float *heads, const float *values, unsigned values_stride, const float *out, const float *stats,
                const float *dout, const unsigned *positions, unsigned rows, unsigned queries, unsigned keys,
                unsigned head_dim, float scale, unsigned longest, float *weights, float *dscores, float *dheads) {
    DYNAMIC_SHARED(shared);
    __shared__ float mean;
    float *dscore = shared, *query = shared + longest, *douts = query + head_dim;
    const unsigned row = blockIdx.x, head = blockIdx.y, kv_head = head / (queries / keys);
    const unsigned width = (queries + keys) * head_dim, at = row * queries + head;
    const unsigned length = positions[row] + 1, first = row - positions[row];
    for (unsigned c = threadIdx.x; c < head_dim; c += ATTEND_THREADS) {
        query[c] = row_of(heads, row, width)[head * head_dim + c];
        douts[c] = row_of(dout, at, head_dim)[c];
    }
    __syncthreads();

    if (threadIdx.x < warpSize) {
        const float *outs = row_of(out, at, head_dim);
        float sum = 0.0f;
        for (unsigned c = threadIdx.x % LANES; c < head_dim; c += LANES) sum = fmaf(douts[c], outs[c], sum);
        sum = lanes_sum(sum);
        if (threadIdx.x == 0) mean = sum;
    }
    __syncthreads();

    const float largest = row_of(stats, at, 2)[0], sum = row_of(stats, at, 2)[1];
    for (unsigned j = threadIdx.x; j < length; j += ATTEND_THREADS) {
        const float *key = row_of(heads, first + j, width) + (queries + kv_head) * head_dim;
        const float *value = row_of(values, first + j, values_stride) + kv_head * head_dim;
        float score = 0.0f, dweight = 0.0f;
        for (unsigned c = 0; c < head_dim; c++) {
            score = fmaf(query[c], key[c], score);
            dweight = fmaf(douts[c], value[c], dweight);
        }
        const float weight = exact_exp(score * scale - largest) / sum;
        dscore[j] = (dweight - mean) * weight * scale;
        row_of(weights, at, longest)[j] = weight;
        row_of(dscores, at, longest)[j] = dscore[j];
    }
    __syncthreads();

    for (unsigned c = threadIdx.x; c < head_dim; c += ATTEND_THREADS) {
        float acc = 0.0f;
        for (unsigned j = 0; j < length; j++) {
            acc = fmaf(dscore[j], row_of(heads, first + j, width)[(queries + kv_head) * head_dim + c], acc);
        }
        row_of(dheads, row, width)[head * head_dim + c] = acc;
    }
}

extern "C" __global__ void __launch_bounds__(ATTEND_THREADS)
attend_backward_keys(const float *heads, const float *dout, const float *weights, const float *dscores,
                     const unsigned *positions, const unsigned *ends, unsigned rows, unsigned queries, unsigned keys,
                     unsigned head_dim, unsigned longest, float *dheads, float *dvalues, unsigned dvalues_stride) {
    const unsigned row = blockIdx.x, kv_head = blockIdx.y, group = queries / keys;
    const unsigned width = (queries + keys) * head_dim, position = positions[row];
    for (unsigned i = threadIdx.x; i < 2 * head_dim; i += ATTEND_THREADS) {
        const bool of_key = i < head_dim;
        const unsigned c = of_key ? i : i - head_dim;
        const float *left = of_key ? dscores : weights;
        float acc = 0.0f;
        for (unsigned other = row; other < ends[row]; other++) {
            for (unsigned head = kv_head * group; head < (kv_head + 1) * group; head++) {
                const unsigned at = other * queries + head;
                const float *right = of_key ? row_of(heads, other, width) + head * head_dim : row_of(dout, at, head_dim);
                acc = fmaf(row_of(left, at, longest)[position], right[c], acc);
            }
        }
        if (of_key) {
            row_of(dheads, row, width)[(queries + kv_head) * head_dim + c] = acc;
        } else {
            row_of(dvalues, row, dvalues_stride)[kv_head * head_dim + c] = acc;
        }
    }
}
