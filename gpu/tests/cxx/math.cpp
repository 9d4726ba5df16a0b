// The elementary functions as the CUDA kernels have them, to be compared with those of src/math.
//
// Use: math FUNCTION FIRST COUNT STRIDE
//      writes the 32-bit patterns of FUNCTION at FIRST, FIRST + STRIDE, ..., COUNT values, to standard output.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "math.cuh"

static float sine(float x) {
    float sine, cosine;
    exact_sin_cos(x, &sine, &cosine);
    return sine;
}

static float cosine(float x) {
    float sine, cosine;
    exact_sin_cos(x, &sine, &cosine);
    return cosine;
}

template <auto Function>
static void apply(uint32_t first, uint32_t stride, std::vector<uint32_t> &results) {
    for (uint32_t &result : results) {
        result = __float_as_uint(Function(__uint_as_float(first)));
        first += stride;
    }
}

struct Named {
    const char *name;
    void (*apply)(uint32_t first, uint32_t stride, std::vector<uint32_t> &results);
};

static const Named functions[] = {
    {"exp", apply<exact_exp>}, {"ln", apply<exact_ln>},       {"sin", apply<sine>},
    {"cos", apply<cosine>},    {"rsqrt", apply<exact_rsqrt>}, {"sigmoid", apply<exact_sigmoid>},
};

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    uint32_t first = static_cast<uint32_t>(strtoull(argv[2], nullptr, 10));
    uint64_t count = strtoull(argv[3], nullptr, 10);
    const uint32_t stride = static_cast<uint32_t>(strtoull(argv[4], nullptr, 10));
    for (const Named &function : functions) {
        if (strcmp(function.name, argv[1]) != 0) continue;
        std::vector<uint32_t> results;
        while (count > 0) {
            results.resize(count < (1 << 14) ? static_cast<size_t>(count) : 1 << 14);
            function.apply(first, stride, results);
            if (fwrite(results.data(), 4, results.size(), stdout) != results.size()) return 1;
            first += stride * static_cast<uint32_t>(results.size());
            count -= results.size();
        }
        return fflush(stdout) == 0 ? 0 : 1;
    }
    return 2;
}
