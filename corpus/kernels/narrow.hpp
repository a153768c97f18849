// 16-bit floating-point values for the reference programs: exact widening to double, and rounding of a
// double to `mantissa` explicit bits in any direction. A sum or product of two such values is exact in
// double, so one rounding at the end is the correctly rounded result.
#pragma once

#include "inputs.hpp"
#include <algorithm>
#include <cfenv>
#include <cmath>

template <int MANTISSA, int EXPONENT> struct Narrow {
    static constexpr int BIAS = (1 << (EXPONENT - 1)) - 1;
    static constexpr int INFINITE = ((1 << EXPONENT) - 1) << MANTISSA;

    static double widen(u16 bits) {
        int exponent = bits >> MANTISSA & ((1 << EXPONENT) - 1), fraction = bits & ((1 << MANTISSA) - 1);
        double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - BIAS - MANTISSA)
                           : exponent == (1 << EXPONENT) - 1
                               ? (fraction ? NAN : INFINITY)
                               : std::ldexp(fraction + (1 << MANTISSA), exponent - BIAS - MANTISSA);
        return bits >> 15 ? -magnitude : magnitude;
    }

    // Rounds by writing the value as an integer count of units in the last place.
    static u16 round(double value, int mode = FE_TONEAREST) {
        u16 sign = std::signbit(value) ? 0x8000 : 0;
        if (std::isinf(value)) return sign | INFINITE;
        if (value == 0) return sign;
        int exponent = std::max(std::ilogb(value), 1 - BIAS);
        volatile double units = std::ldexp(std::fabs(value), MANTISSA - exponent);
        std::fesetround(sign && mode == FE_UPWARD ? FE_DOWNWARD : sign && mode == FE_DOWNWARD ? FE_UPWARD : mode);
        volatile double whole = std::nearbyint(units);
        std::fesetround(FE_TONEAREST);
        // A carry out of the fraction moves into the exponent by itself.
        double bits = whole + std::ldexp(exponent + BIAS - 1, MANTISSA);
        if (bits < INFINITE) return sign | u16(bits);
        bool outward = mode == FE_TONEAREST || (mode == FE_UPWARD && !sign) || (mode == FE_DOWNWARD && sign);
        return sign | u16(outward ? INFINITE : INFINITE - 1);
    }

    // x * y + z with one rounding. The product is exact; the sum may need more than 53 bits, so it is
    // rounded to odd first, which makes the second rounding harmless.
    static u16 fused(double x, double y, double z, bool relu = false) {
        double product = x * y, sum = product + z, error = 0;
        if (std::isfinite(sum)) {
            double part = sum - product;
            error = (product - (sum - part)) + (z - part);
        }
        if (error != 0) {
            u64 bits = __builtin_bit_cast(u64, sum);
            if (bits % 2 == 0) sum = std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
        }
        return relu && sum <= 0 ? 0 : round(sum);
    }
};

using Half = Narrow<10, 5>;
using Bfloat = Narrow<7, 8>;
