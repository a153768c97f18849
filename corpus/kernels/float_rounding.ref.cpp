// Expected outputs of float_rounding.cu: the host's arithmetic under each rounding mode. The volatile
// operands keep the compiler from folding or moving an operation across a change of mode.
#include "inputs.hpp"
#include <cfenv>
#include <cmath>

template <class F> static void four(std::vector<F> &out, auto operation, F a, F b = 0, F c = 0) {
    for (int mode : {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD}) {
        volatile F x = a, y = b, z = c;
        std::fesetround(mode);
        volatile F result = operation(x, y, z);
        std::fesetround(FE_TONEAREST);
        out.push_back(F(result));
    }
}

template <class F> static void row(std::vector<F> &out, F x, F y, bool subtract) {
    four(out, [](F a, F b, F) { return a + b; }, x, y);
    if (subtract) four(out, [](F a, F b, F) { return a - b; }, x, y);
    four(out, [](F a, F b, F) { return a * b; }, x, y);
    four(out, [](F a, F b, F c) { return std::fma(a, b, c); }, x, y, x);
    four(out, [](F a, F b, F) { return a / b; }, x, y);
    four(out, [](F, F b, F) { return F(1) / b; }, x, y);
    four(out, [](F a, F, F) { return std::sqrt(a); }, std::fabs(x));
}

int main(int argc, char **argv) {
    Files files(argc, argv, "float_rounding");
    Rng rng(35);
    const int n = 96;
    auto value = [&] { return std::ldexp(float(s32(rng.next32() | 1)), s32(rng.below(40)) - 45); };
    std::vector<float> a = rng.fill<float>(n, value), b = rng.fill<float>(n, value), out;
    std::vector<double> wide;
    for (int i = 0; i < 16; i++) {
        a[i] = std::ldexp(a[i], i % 2 ? 100 : -140);
        b[i] = std::ldexp(b[i], i % 4 < 2 ? 90 : -130);
    }
    a[16] = 0, a[17] = -0.0f, a[18] = 1, b[18] = -1, a[19] = INFINITY, b[19] = 2, a[20] = 0x1p-149f, b[20] = 0x1p-149f;
    files.write("a", a);
    files.write("b", b);
    for (int i = 0; i < n; i++) {
        row(out, a[i], b[i], true);
        row(wide, a[i] * 1.000000000000001, b[i] / 3.0, false);
    }
    for (float f : out)
        if (std::isnan(f)) return 1;
    for (double f : wide)
        if (std::isnan(f)) return 1;
    files.write("out", out);
    files.write("wide", wide);
}
