// Matrix products, three orientations: activations times a matrix (nn), gradients times a matrix turned and logits (nt),
// gradients of matrices (tn).
//
// Launch: a block of 256 threads computes a tile of 64 x 64 outputs, a thread 4 x 4 neighbours.
// Order: every output is one chain, acc = fmaf(a, b, acc), k ascending, from 0 or from the output. Tiles of sixteen k are
// staged in shared memory and the accumulator stays in its register, so tiling does not change the order. The last tile
// runs over exactly the k that there are: a fused step with padding would turn -0 into +0. While a tile is used, the next
// one is fetched into registers.
// Checked: bit by bit against gpu/src/gemm/reference.rs, in every execution order.

#include "prelude.cuh"

#define TILE 64u
#define DEPTH 16u
#define GEMM_THREADS 256u
#define SIDE 16u
#define EACH 4u
// Numbers of a staged tile that a thread brings.
#define SHARE (TILE * DEPTH / GEMM_THREADS)

// Rows of four more numbers than outputs: neighbours stay aligned, and a column of k spreads over the banks.
struct __align__(16) Staged { float rows[DEPTH][TILE + 4]; };

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

// Where the i-th number that this thread brings stands in a tile. TURNED: the factor is stored [k, outer], else
// [outer, k]; consecutive threads read consecutive numbers either way.
template <bool TURNED>
DEVICE void spot(unsigned i, unsigned *inner, unsigned *place) {
    const unsigned item = threadIdx.x + i * GEMM_THREADS;
    *inner = TURNED ? item / TILE : item % DEPTH;
    *place = TURNED ? item % TILE : item / DEPTH;
}

// Reads this thread's share of the tile that begins at `k`, of 64 outputs from `first` on; 0 where there is nothing.
template <bool TURNED>
DEVICE void fetch(float (&share)[SHARE], const float *from, unsigned stride, unsigned first, unsigned outer, unsigned k,
                  unsigned end) {
    for (unsigned i = 0; i < SHARE; i++) {
        unsigned inner, place;
        spot<TURNED>(i, &inner, &place);
        share[i] = 0.0f;
        if (first + place < outer && k + inner < end) {
            share[i] = TURNED ? row_of(from, k + inner, stride)[first + place]
                              : row_of(from, first + place, stride)[k + inner];
        }
    }
}

template <bool TURNED>
DEVICE void stage(Staged &tile, const float (&share)[SHARE]) {
    for (unsigned i = 0; i < SHARE; i++) {
        unsigned inner, place;
        spot<TURNED>(i, &inner, &place);
        tile.rows[inner][place] = share[i];
    }
}

// Continues the chains of this thread's outputs over `depth` staged k.
DEVICE void advance(float (&acc)[EACH][EACH], const Staged &a_tile, const Staged &b_tile, unsigned row, unsigned col,
                    unsigned depth) {
    for (unsigned inner = 0; inner < depth; inner++) {
        float left[EACH], right[EACH];
        for (unsigned i = 0; i < EACH; i++) left[i] = a_tile.rows[inner][row + i];
        for (unsigned j = 0; j < EACH; j++) right[j] = b_tile.rows[inner][col + j];
        for (unsigned i = 0; i < EACH; i++) {
            for (unsigned j = 0; j < EACH; j++) acc[i][j] = fmaf(left[i], right[j], acc[i][j]);
        }
    }
}

template <bool A_TURNED, bool B_TURNED>
DEVICE void tile_product(const Product &product, Staged &a_tile, Staged &b_tile) {
    const unsigned a_first = blockIdx.y * TILE, b_first = blockIdx.x * TILE;
    const unsigned row = threadIdx.x / SIDE * EACH, col = threadIdx.x % SIDE * EACH;
    float acc[EACH][EACH];
    for (unsigned i = 0; i < EACH; i++) {
        for (unsigned j = 0; j < EACH; j++) {
            const unsigned m = a_first + row + i, n = b_first + col + j;
            const bool present = m < product.m && n < product.n;
            acc[i][j] = present && product.from_output ? row_of(product.c, m, product.c_stride)[n] : 0.0f;
        }
    }
    float a_share[SHARE], b_share[SHARE];
    fetch<A_TURNED>(a_share, product.a, product.a_stride, a_first, product.m, 0, product.k);
    fetch<B_TURNED>(b_share, product.b, product.b_stride, b_first, product.n, 0, product.k);
    for (unsigned k = 0; k < product.k; k += DEPTH) {
        stage<A_TURNED>(a_tile, a_share);
        stage<B_TURNED>(b_tile, b_share);
        __syncthreads();
        fetch<A_TURNED>(a_share, product.a, product.a_stride, a_first, product.m, k + DEPTH, product.k);
        fetch<B_TURNED>(b_share, product.b, product.b_stride, b_first, product.n, k + DEPTH, product.k);
        // A whole tile's length is known when this is compiled.
        if (product.k - k >= DEPTH) {
            advance(acc, a_tile, b_tile, row, col, DEPTH);
        } else {
            advance(acc, a_tile, b_tile, row, col, product.k - k);
        }
        __syncthreads();
    }
    for (unsigned i = 0; i < EACH; i++) {
        for (unsigned j = 0; j < EACH; j++) {
            const unsigned m = a_first + row + i, n = b_first + col + j;
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
