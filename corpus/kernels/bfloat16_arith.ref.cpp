// Expected outputs of bfloat16_arith.cu. Sums of bfloat16 values can need more than 53 bits, so they go
// through the fused operation, whose intermediate rounding is harmless.
#include "narrow.hpp"

static u16 add(double x, double y) { return Bfloat::fused(x, 1, y); }

int main(int argc, char **argv) {
    Files files(argc, argv, "bfloat16_arith");
    Rng rng(45);
    const int n = 64;
    auto finite = [&] { return rng.below(0x4800) + 0x1c00 + rng.below(2) * 0x8000; };
    std::vector<u16> a = rng.fill<u16>(2 * n, finite), b = rng.fill<u16>(2 * n, finite), out;
    std::vector<float> wide;
    std::vector<u32> flags;
    for (int i = 0; i < 64; i++) {
        a[i] = u16(0x3e00 + rng.below(0x300));
        b[i] = u16(0xbe00 + rng.below(0x300));
    }
    b[70] = a[70], b[71] = a[71], b[73] = a[72];
    files.write("a", a);
    files.write("b", b);
    for (int t = 0; t < n; t++) {
        double x[2], y[2];
        for (int h = 0; h < 2; h++) x[h] = Bfloat::widen(a[2 * t + h]), y[h] = Bfloat::widen(b[2 * t + h]);
        auto both = [&](auto operation) { out.insert(out.end(), {operation(0), operation(1)}); };
        both([&](int h) { return add(x[h], y[h]); });
        both([&](int h) { return add(x[h], -y[h]); });
        both([&](int h) { return Bfloat::round(x[h] * y[h]); });
        both([&](int h) { return Bfloat::fused(x[h], y[h], x[h]); });
        both([&](int h) { return Bfloat::fused(y[h], x[h], x[h], true); });
        both([&](int h) { return Bfloat::round(std::min(x[h], y[h])); });
        both([&](int h) { return Bfloat::round(std::max(-x[h], std::fabs(y[h]))); });
        const double low = x[0], high = y[1];
        const float f = float(low) * 1.0039f;
        out.insert(out.end(), {add(low, high), Bfloat::fused(low, high, low)});
        for (int mode : {FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD, FE_TONEAREST}) out.push_back(Bfloat::round(f, mode));
        wide.push_back(std::fma(float(low), float(high), 1.0f));
        wide.push_back(f);
        bool both_differ = x[0] != y[0] && x[1] != y[1];
        flags.push_back((low == high) | (low < high) << 1 | (low >= high) << 2 | both_differ << 3);
    }
    files.write("out", out);
    files.write("wide", wide);
    files.write("flags", flags);
}
