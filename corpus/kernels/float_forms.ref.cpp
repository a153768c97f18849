// Expected outputs of float_forms.ptx.
#include "inputs.hpp"
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>

static float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

static float saturate(float x) { return x > 0 ? std::min(x, 1.0f) : 0.0f; }

// -0 lies below +0; where one operand is a NaN the result is the other.
static bool below(float x, float y) { return x < y || (x == y && std::signbit(x) && !std::signbit(y)); }
static float least(float x, float y) { return std::isnan(x) ? y : std::isnan(y) ? x : below(y, x) ? y : x; }
static float most(float x, float y) { return std::isnan(x) ? y : std::isnan(y) ? x : below(x, y) ? y : x; }

// The result is rounded and flushed once: flushing applies to what the rounding gives.
template <class F> static F under(int mode, auto operation, F a, F b) {
    volatile F x = a, y = b;
    std::fesetround(mode);
    volatile F result = operation(x, y);
    std::fesetround(FE_TONEAREST);
    return result;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "float_forms");
    Rng rng(67);
    const int n = 96;
    auto value = [&] { return std::ldexp(float(s32(rng.next32())), s32(rng.below(16)) - 38); };
    std::vector<float> as = rng.fill<float>(n, value), bs = rng.fill<float>(n, value);
    const float special[12] = {0.0f, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-127f, 0x1p-126f, 0.5f, 2.5f};
    for (int i = 0; i < 48; i++) {
        as[i] = special[i % 12];
        if (i < 24) bs[i] = special[(i / 12 + i) % 4];
        else if (i < 36) bs[i] = special[7 + i % 5];
    }
    bs[40] = as[40];
    files.write("a", as);
    files.write("b", bs);
    std::vector<u32> out;
    std::vector<double> wide;
    for (int t = 0; t < n; t++) {
        float a = as[t], b = bs[t];
        // testp counts zeros among the normal numbers.
        const bool nan = std::isnan(a), normal = std::isnormal(a) || a == 0, subnormal = std::fpclassify(a) == FP_SUBNORMAL;
        const bool flags[15] = {std::isfinite(a), bool(std::isinf(a)), !nan, nan, normal, subnormal, a < b, !(a >= b), a != b,
                                a < b || a > b, !nan, nan, flush(a) == 0, !(a < b) && normal, a < b && normal};
        u32 bits = 0;
        for (int i = 0; i < 15; i++) bits |= u32(flags[i]) << i;
        auto put = [&](std::initializer_list<float> values) {
            for (float x : values) out.push_back(std::bit_cast<u32>(x));
        };
        out.push_back(bits);
        put({least(a, b), most(a, b)});
        const float strict_least = nan ? 42 : least(a, b), strict_most = nan ? 42 : most(a, b);
        if (nan) a = 1.5f;
        if (std::isinf(a)) a = 64;
        const bool negative = std::signbit(a) != std::signbit(b);
        auto with_sign = [&](float x) { return negative ? -x : x; };
        put({std::copysign(a, b), strict_least, strict_most});
        put({with_sign(std::min(std::fabs(a), std::fabs(b))), with_sign(std::max(std::fabs(a), std::fabs(b)))});
        const float fa = flush(a), fb = flush(b);
        put({flush(fa + fb), flush(fa * fb), flush(std::fma(fa, fb, fa)), -fa});
        auto fused = [](float x, float y) { return std::fma(x, y, 0.5f); };
        auto minus = [](float x, float y) { return x - y; };
        put({saturate(a + b), saturate(a * b), saturate(under(FE_TOWARDZERO, fused, a, b)),
             saturate(flush(under(FE_DOWNWARD, minus, fb, fa)))});
        put({std::nearbyint(a), std::ceil(fa), saturate(b), std::fabs(fa)});
        out.push_back(u32(s32(std::clamp(std::nearbyint(a), -128.0f, 127.0f))));
        out.push_back(u32(std::clamp(std::floor(a), 0.0f, 65535.0f)));
        out.push_back(u32(s32(std::trunc(fa))));
        out.push_back(u32(std::clamp(std::nearbyint(double(b)), 0.0, 4294967295.0)));
        const double x = a, y = b;
        auto wide_fused = [](double p, double q) { return std::fma(p, q, 0.1); };
        for (double value : {std::copysign(y, x), double(least(a, b)), under(FE_UPWARD, wide_fused, x, y), std::floor(y)})
            wide.push_back(value);
    }
    files.write("out", out);
    files.write("wide", wide);
}
