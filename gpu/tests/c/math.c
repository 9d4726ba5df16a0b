/* The elementary functions of src/math, written a second time in C.
 *
 * Build: cc -std=c11 -O2 -ffp-contract=off math.c -o math -lm
 * Use:   math FUNCTION FIRST COUNT STRIDE
 *        writes the 32-bit patterns of FUNCTION at FIRST, FIRST + STRIDE, ..., COUNT values, to standard output.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float from_bits(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
static uint32_t to_bits(float x) { uint32_t bits; memcpy(&bits, &x, 4); return bits; }

static const float rounder = 12582912.0f;
static const uint32_t rounder_bits = 0x4b400000u;

/* Arithmetic right shift, whatever the compiler makes of >> on negative numbers. */
static int32_t sar(uint32_t bits, int by) {
    uint32_t shifted = bits >> by;
    if (bits >> 31) shifted |= ~(UINT32_MAX >> by);
    int32_t result;
    memcpy(&result, &shifted, 4);
    return result;
}

static float horner(float x, const float *coefficients, int count) {
    float value = coefficients[0];
    for (int i = 1; i < count; i++) value = fmaf(value, x, coefficients[i]);
    return value;
}

static float tadpole_exp(float x) {
    static const float tail[5] = {0.001384043f, 0.00836935f, 0.041668084f, 0.16666515f, 0.49999994f};
    x = x < -104.0f ? -104.0f : x;
    x = 89.0f < x ? 89.0f : x;
    float shifted = fmaf(x, 1.44269504088896340736f, rounder);
    float n = shifted - rounder;
    uint32_t n_bits = to_bits(shifted) - rounder_bits;
    float r = fmaf(n, -0.69314575f, x);
    r = fmaf(n, -1.4286068e-6f, r);
    float slope = fmaf(horner(r, tail, 5), r, 1.0f);
    float mantissa = fmaf(slope, r, 1.0f);
    int32_t half = sar(n_bits, 1);
    uint32_t rest = n_bits - (uint32_t)half;
    return mantissa * from_bits(((uint32_t)half + 127u) << 23) * from_bits((rest + 127u) << 23);
}

static float tadpole_ln(float x) {
    static const float tail[9] = {0.11950024f,  -0.12836921f, 0.10771684f,  -0.12197779f, 0.14302544f,
                                  -0.16679421f, 0.19999686f, -0.24999824f, 0.33333334f};
    int subnormal = x < 1.17549435e-38f;
    uint32_t lifted = to_bits(subnormal ? x * 8388608.0f : x);
    float lift = subnormal ? 23.0f : 0.0f;
    int32_t exponent = sar(lifted - 0x3f2aaaabu, 23);
    float mantissa = from_bits(lifted - ((uint32_t)exponent << 23));
    float f = mantissa - 1.0f;
    float e = (from_bits((uint32_t)exponent + rounder_bits) - rounder) - lift;
    float t = fmaf(horner(f, tail, 9), f, -0.5f);
    float log_mantissa = fmaf(t, f * f, f);
    float finite = fmaf(e, 0.69314718055994530942f, log_mantissa);
    if (0.0f < x) return x < INFINITY ? finite : INFINITY;
    return x == 0.0f ? -INFINITY : NAN;
}

static void sin_cos(float x, float *sine_out, float *cosine_out) {
    static const float sine_tail[3] = {-0.00019517897f, 0.008332187f, -0.16666655f};
    static const float cosine_tail[3] = {2.4432327e-5f, -0.0013887309f, 0.041666646f};
    uint32_t sign = to_bits(x) & 0x80000000u;
    float size = from_bits(to_bits(x) ^ sign);
    float shifted = fmaf(size, 0.63661977236758134308f, rounder);
    float k = shifted - rounder;
    uint32_t quadrant = to_bits(shifted) - rounder_bits;
    float r = fmaf(k, -1.57079632679489661923f, size);
    r = fmaf(k, 4.371139e-8f, r);
    r = fmaf(k, 1.7151245e-15f, r);
    float square = r * r;
    float sine = fmaf(horner(square, sine_tail, 3) * square, r, r);
    float cosine = fmaf(fmaf(horner(square, cosine_tail, 3), square, -0.5f), square, 1.0f);
    if (quadrant & 1u) { float other = sine; sine = cosine; cosine = other; }
    *sine_out = from_bits(to_bits(sine) ^ ((quadrant & 2u) << 30) ^ sign);
    *cosine_out = from_bits(to_bits(cosine) ^ (((quadrant + 1u) & 2u) << 30));
}

static float tadpole_sin(float x) { float s, c; sin_cos(x, &s, &c); return s; }
static float tadpole_cos(float x) { float s, c; sin_cos(x, &s, &c); return c; }
static float tadpole_rsqrt(float x) { return 1.0f / sqrtf(x); }
static float tadpole_sigmoid(float x) { return 1.0f / (1.0f + tadpole_exp(-x)); }

static const struct { const char *name; float (*apply)(float); } functions[] = {
    {"exp", tadpole_exp}, {"ln", tadpole_ln},       {"sin", tadpole_sin},
    {"cos", tadpole_cos}, {"rsqrt", tadpole_rsqrt}, {"sigmoid", tadpole_sigmoid},
};

int main(int argc, char **argv) {
    static uint32_t results[1 << 14];
    if (argc != 5) return 2;
    uint32_t x = (uint32_t)strtoull(argv[2], NULL, 10);
    uint64_t count = strtoull(argv[3], NULL, 10);
    uint32_t stride = (uint32_t)strtoull(argv[4], NULL, 10);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, argv[1]) != 0) continue;
        while (count > 0) {
            size_t block = count < (1 << 14) ? (size_t)count : (1 << 14);
            for (size_t j = 0; j < block; j++, x += stride) results[j] = to_bits(functions[i].apply(from_bits(x)));
            if (fwrite(results, 4, block, stdout) != block) return 1;
            count -= block;
        }
        return fflush(stdout) == 0 ? 0 : 1;
    }
    return 2;
}
