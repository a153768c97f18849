// Expected outputs of float_convert.cu. A conversion to an integer rounds in the mode asked for and then
// clamps to the range of the type.
#include "inputs.hpp"
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

static const int MODES[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};

template <class To, class From> static To under(int mode, From value) {
    volatile From x = value;
    std::fesetround(mode);
    volatile To result = To(x);
    std::fesetround(FE_TONEAREST);
    return result;
}

static double rounded(int mode, double value) {
    volatile double x = value;
    std::fesetround(mode);
    volatile double result = std::nearbyint(x);
    std::fesetround(FE_TONEAREST);
    return result;
}

template <class I, class O> static void integers(std::vector<O> &out, double value) {
    using Limits = std::numeric_limits<I>;
    for (int mode : MODES) {
        double r = rounded(mode, value);
        I clamped = r <= double(Limits::min()) ? Limits::min() : r >= double(Limits::max()) ? Limits::max() : I(r);
        out.push_back(O(clamped));
    }
}

int main(int argc, char **argv) {
    Files files(argc, argv, "float_convert");
    Rng rng(36);
    const int n = 64;
    std::vector<float> in = rng.fill<float>(n, [&] { return std::ldexp(float(s32(rng.next32())), s32(rng.below(80)) - 40); });
    std::vector<s64> numbers = rng.fill<s64>(n, [&] { return s64(rng.next64()) >> rng.below(60); });
    in[0] = 0.5f, in[1] = -0.5f, in[2] = 1.5f, in[3] = 2.5f, in[4] = INFINITY, in[5] = -INFINITY, in[6] = 0x1p31f;
    in[7] = -0x1p31f, in[8] = 0x1p63f, in[9] = 0x1p64f, in[10] = -0.0f, in[11] = 0x1p-149f;
    numbers[0] = INT64_MIN, numbers[1] = INT64_MAX, numbers[2] = -1, numbers[3] = 0x7fffffff, numbers[4] = 16777217;
    files.write("in", in);
    files.write("integers", numbers);
    std::vector<s32> words;
    std::vector<s64> longs;
    std::vector<float> floats;
    std::vector<double> doubles;
    for (int i = 0; i < n; i++) {
        const float x = in[i];
        const double y = double(x) * 1.25;
        const s64 v = numbers[i];
        integers<s32>(words, x);
        integers<u32>(words, x);
        integers<s32>(words, y);
        integers<u32>(words, y);
        float small = std::clamp(x, -100.0f, 100.0f);
        words.push_back(s32(small) + s16(s32(small * 300.0f)));
        words.push_back(s32(std::fabs(small)) * 3 + s32(std::fabs(small * 600.0f)));
        integers<s64>(longs, x);
        integers<u64>(longs, x);
        integers<s64>(longs, y);
        integers<u64>(longs, y);
        for (int mode : MODES) floats.push_back(under<float>(mode, s32(v)));
        for (int mode : MODES) floats.push_back(under<float>(mode, s64(u32(v))));
        for (int mode : MODES) floats.push_back(under<float>(mode, v));
        for (int mode : MODES) floats.push_back(under<float>(mode, double(v) / 7));
        floats.push_back(float(s8(v)) + float(u16(v)));
        floats.push_back(std::bit_cast<float>(u32(v) & 0x7f7fffff));
        for (int mode : MODES) doubles.push_back(under<double>(mode, v));
        doubles.push_back(double(s32(v)) - double(u32(v)));
        doubles.push_back(double(u64(v)));
    }
    files.write("words", words);
    files.write("longs", longs);
    files.write("floats", floats);
    files.write("doubles", doubles);
}
