// Tables of tokens: rows gathered into the residual stream, gradients scattered back, rows of activations moved.
//
// Launch: a block of 128 threads a row (embed, take_rows) or a token (embed_gradient); threads share the channels.
// Order: embed adds the rows of E, E1, E2 in this order. embed_gradient adds the rows of one token one after the other, in
// the order of a list that has them ascending: no two blocks write one number, so there is nothing to be atomic about.
// Checked: bit by bit against gpu/src/transformer/{forward,gradient}.rs, in every execution order.

#include "prelude.cuh"

#define NO_TOKEN 0xffffffffu

extern "C" __global__ void __launch_bounds__(128)
embed(const unsigned *inputs, const float *tables, unsigned vocab, unsigned ngram, unsigned rows, unsigned width, float *x) {
    const unsigned row = blockIdx.x;
    const unsigned *tokens = row_of(inputs, row, 3);
    for (unsigned c = threadIdx.x; c < width; c += blockDim.x) {
        float sum = row_of(tables, tokens[0], width)[c];
        for (unsigned distance = 1; distance <= ngram; distance++) {
            if (tokens[distance] != NO_TOKEN) sum = sum + row_of(tables, distance * vocab + tokens[distance], width)[c];
        }
        row_of(x, row, width)[c] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(128)
embed_gradient(const unsigned *starts, const unsigned *order, const float *dx, unsigned vocab, unsigned width, float *out) {
    const unsigned token = blockIdx.x;
    const unsigned first = starts[token], end = starts[token + 1];
    if (first == end) return;
    for (unsigned c = threadIdx.x; c < width; c += blockDim.x) {
        float sum = row_of(out, token, width)[c];
        for (unsigned i = first; i < end; i++) sum = sum + row_of(dx, order[i], width)[c];
        row_of(out, token, width)[c] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(128)
take_rows(const float *from, const unsigned *index, unsigned rows, unsigned width, float *out) {
    const unsigned row = blockIdx.x, source = index[row];
    for (unsigned c = threadIdx.x; c < width; c += blockDim.x) {
        row_of(out, row, width)[c] = source == NO_TOKEN ? 0.0f : row_of(from, source, width)[c];
    }
}
