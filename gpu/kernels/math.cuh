// exp, ln, sin, cos, the reciprocal root and the logistic function, as gpu/src/math defines them: polynomials, explicit fmaf, selections and
// whole-number operations. Same constants, same operations in the same order, so the same bits for every argument.
// Checked: gpu/tests/math_against_kernels.rs compares a million arguments of each function with gpu/src/math, over all
// exponents; gpu/examples/math_exhaustive.rs all 2^32.
#pragma once

#include "prelude.cuh"

// 1.5 * 2^23: adding it rounds a number below 2^22 in size to an integer, which then stands in the low bits of the sum.
#define ROUNDER 12582912.0f
#define ROUNDER_BITS 0x4b400000u

#define INFINITE __uint_as_float(0x7f800000u)
#define NOT_A_NUMBER __uint_as_float(0x7fc00000u)

// Copies the sign downwards.
DEVICE unsigned shift_right_signed(unsigned bits, int by) { return (unsigned)((int)bits >> by); }

// 2^n for n in -126..=127.
DEVICE float power_of_two(unsigned n) { return __uint_as_float((n + 127u) << 23); }

// e^x: x = n ln 2 + r, e^x = 2^n e^r. The power of two is applied in two factors, of which the first is exact.
DEVICE float exact_exp(float x) {
    x = x < -104.0f ? -104.0f : x;
    x = 89.0f < x ? 89.0f : x;
    const float shifted = fmaf(x, 1.44269504088896340736f, ROUNDER);
    const float n = shifted - ROUNDER;
    const unsigned n_bits = __float_as_uint(shifted) - ROUNDER_BITS;
    float r = fmaf(n, -0.69314575f, x);
    r = fmaf(n, -1.4286068e-6f, r);
    float tail = 0.001384043f;
    tail = fmaf(tail, r, 0.00836935f);
    tail = fmaf(tail, r, 0.041668084f);
    tail = fmaf(tail, r, 0.16666515f);
    tail = fmaf(tail, r, 0.49999994f);
    const float slope = fmaf(tail, r, 1.0f);
    const float mantissa = fmaf(slope, r, 1.0f);
    const unsigned half = shift_right_signed(n_bits, 1);
    return mantissa * power_of_two(half) * power_of_two(n_bits - half);
}

// Two correctly rounded operations.
DEVICE float exact_rsqrt(float x) { return 1.0f / sqrtf(x); }

// 1 / (1 + e^-x).
DEVICE float exact_sigmoid(float x) {
    const float negated = __uint_as_float(__float_as_uint(x) ^ 0x80000000u);
    return 1.0f / (1.0f + exact_exp(negated));
}

// ln x: x = 2^e (1 + f) with 1 + f in [2/3, 4/3), ln x = e ln 2 + ln(1 + f).
DEVICE float exact_ln(float x) {
    const bool subnormal = x < 1.17549435e-38f;
    const unsigned lifted = __float_as_uint(subnormal ? x * 8388608.0f : x);
    const float lift = subnormal ? 23.0f : 0.0f;
    const unsigned exponent = shift_right_signed(lifted - 0x3f2aaaabu, 23);
    const float mantissa = __uint_as_float(lifted - (exponent << 23));
    const float f = mantissa - 1.0f;
    const float e = (__uint_as_float(exponent + ROUNDER_BITS) - ROUNDER) - lift;
    float tail = 0.11950024f;
    tail = fmaf(tail, f, -0.12836921f);
    tail = fmaf(tail, f, 0.10771684f);
    tail = fmaf(tail, f, -0.12197779f);
    tail = fmaf(tail, f, 0.14302544f);
    tail = fmaf(tail, f, -0.16679421f);
    tail = fmaf(tail, f, 0.19999686f);
    tail = fmaf(tail, f, -0.24999824f);
    tail = fmaf(tail, f, 0.33333334f);
    tail = fmaf(tail, f, -0.5f);
    const float log_mantissa = fmaf(tail, f * f, f);
    const float finite = fmaf(e, 0.69314718055994530942f, log_mantissa);
    const float positive = x < INFINITE ? finite : INFINITE;
    const float rest = x == 0.0f ? -INFINITE : NOT_A_NUMBER;
    return 0.0f < x ? positive : rest;
}

// Sine and cosine: |x| = k pi/2 + r; the quadrant k mod 4 says which polynomial of r is taken, with which sign.
DEVICE void exact_sin_cos(float x, float *sine_out, float *cosine_out) {
    const unsigned sign = __float_as_uint(x) & 0x80000000u;
    const float size = __uint_as_float(__float_as_uint(x) ^ sign);
    const float shifted = fmaf(size, 0.63661977236758134308f, ROUNDER);
    const float k = shifted - ROUNDER;
    const unsigned quadrant = __float_as_uint(shifted) - ROUNDER_BITS;
    float r = fmaf(k, -1.57079632679489661923f, size);
    r = fmaf(k, 4.371139e-8f, r);
    r = fmaf(k, 1.7151245e-15f, r);
    const float square = r * r;
    float odd = -0.00019517897f;
    odd = fmaf(odd, square, 0.008332187f);
    odd = fmaf(odd, square, -0.16666655f);
    float even = 2.4432327e-5f;
    even = fmaf(even, square, -0.0013887309f);
    even = fmaf(even, square, 0.041666646f);
    const float sine = fmaf(odd * square, r, r);
    const float cosine = fmaf(fmaf(even, square, -0.5f), square, 1.0f);
    const bool exchanged = (quadrant & 1u) != 0u;
    const unsigned sine_bits = __float_as_uint(exchanged ? cosine : sine);
    const unsigned cosine_bits = __float_as_uint(exchanged ? sine : cosine);
    *sine_out = __uint_as_float(sine_bits ^ ((quadrant & 2u) << 30) ^ sign);
    *cosine_out = __uint_as_float(cosine_bits ^ (((quadrant + 1u) & 2u) << 30));
}
