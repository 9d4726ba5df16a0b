// Matrix products, three orientations: activations times a matrix (nn), gradients times a matrix turned and logits (nt),
// gradients of matrices (tn).
//
// Launch: a block of 256 threads computes a tile of 64 x 64 outputs, a thread 4 x 4 of them, sixteen rows and columns apart.
// Order: every output is one chain, acc = fmaf(a, b, acc), k ascending, from 0 or from the output. Tiles of sixteen k are
// staged in shared memory and the accumulator stays in its register, so tiling does not change the order. The last tile
// runs over exactly the k that there are: a fused step with padding would turn -0 into +0.
// Checked: bit by bit against gpu/src/gemm/reference.rs, in every execution order.

#include "prelude.cuh"

#define TILE 64u
#define DEPTH 16u
#define GEMM_THREADS 256u
#define SIDE 16u
#define EACH 4u

// One more column than outputs: storing a row of k side by side then meets no bank twice.
typedef float Staged[DEPTH][TILE + 1];

struct Product {
    const float *a;
    unsigned a_stride;
    const float *b;
    unsigned b_stride;
    float *c;
    unsigned c_stride;
    unsigned m, n, k;
    bool from_output;
};

// Stages `depth` k of 64 outputs' factors, of which `outer` exist. TURNED: the factor is stored [k, outer], else
// [outer, k]; consecutive threads read consecutive numbers either way.
template <bool TURNED>
DEVICE void stage(Staged &tile, const float *from, unsigned stride, unsigned first, unsigned outer, unsigned k, unsigned depth) {
    for (unsigned item = threadIdx.x; item < TILE * DEPTH; item += GEMM_THREADS) {
        const unsigned inner = TURNED ? item / TILE : item % DEPTH;
        const unsigned place = TURNED ? item % TILE : item / DEPTH;
        float value = 0.0f;
        if (first + place < outer && inner < depth) {
            value = TURNED ? row_of(from, k + inner, stride)[first + place] : row_of(from, first + place, stride)[k + inner];
        }
        tile[inner][place] = value;
    }
}

template <bool A_TURNED, bool B_TURNED>
DEVICE void tile_product(const Product &product, Staged &a_tile, Staged &b_tile) {
    const unsigned row = threadIdx.x / SIDE, first_row = blockIdx.y * TILE;
    const unsigned col = threadIdx.x % SIDE, first_col = blockIdx.x * TILE;
    float acc[EACH][EACH];
    for (unsigned i = 0; i < EACH; i++) {
        for (unsigned j = 0; j < EACH; j++) {
            const unsigned m = first_row + row + i * SIDE, n = first_col + col + j * SIDE;
            const bool present = m < product.m && n < product.n;
            acc[i][j] = present && product.from_output ? row_of(product.c, m, product.c_stride)[n] : 0.0f;
        }
    }
    for (unsigned k = 0; k < product.k; k += DEPTH) {
        const unsigned depth = product.k - k < DEPTH ? product.k - k : DEPTH;
        stage<A_TURNED>(a_tile, product.a, product.a_stride, first_row, product.m, k, depth);
        stage<B_TURNED>(b_tile, product.b, product.b_stride, first_col, product.n, k, depth);
        __syncthreads();
        for (unsigned inner = 0; inner < depth; inner++) {
            float left[EACH], right[EACH];
            for (unsigned i = 0; i < EACH; i++) left[i] = a_tile[inner][row + i * SIDE];
            for (unsigned j = 0; j < EACH; j++) right[j] = b_tile[inner][col + j * SIDE];
            for (unsigned i = 0; i < EACH; i++) {
                for (unsigned j = 0; j < EACH; j++) acc[i][j] = fmaf(left[i], right[j], acc[i][j]);
            }
        }
        __syncthreads();
    }
    for (unsigned i = 0; i < EACH; i++) {
        for (unsigned j = 0; j < EACH; j++) {
            const unsigned m = first_row + row + i * SIDE, n = first_col + col + j * SIDE;
            if (m < product.m && n < product.n) row_of(product.c, m, product.c_stride)[n] = acc[i][j];
        }
    }
}

extern "C" __global__ void __launch_bounds__(GEMM_THREADS)
gemm_nn(const float *a, unsigned a_stride, const float *b, unsigned b_stride, float *c, unsigned c_stride, unsigned m,
        unsigned n, unsigned k, unsigned start) {
    __shared__ Staged a_tile, b_tile;
    tile_product<false, true>(Product{a, a_stride, b, b_stride, c, c_stride, m, n, k, start != 0}, a_tile, b_tile);
}

extern "C" __global__ void __launch_bounds__(GEMM_THREADS)
gemm_nt(const float *a, unsigned a_stride, const float *b, unsigned b_stride, float *c, unsigned c_stride, unsigned m,
        unsigned n, unsigned k, unsigned start) {
    __shared__ Staged a_tile, b_tile;
    tile_product<false, false>(Product{a, a_stride, b, b_stride, c, c_stride, m, n, k, start != 0}, a_tile, b_tile);
}

extern "C" __global__ void __launch_bounds__(GEMM_THREADS)
gemm_tn(const float *a, unsigned a_stride, const float *b, unsigned b_stride, float *c, unsigned c_stride, unsigned m,
        unsigned n, unsigned k, unsigned start) {
    __shared__ Staged a_tile, b_tile;
    tile_product<true, true>(Product{a, a_stride, b, b_stride, c, c_stride, m, n, k, start != 0}, a_tile, b_tile);
}
