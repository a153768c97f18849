// Expected outputs of half2_dot.cu.
#include "narrow.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "half2_dot");
    Rng rng(44);
    const int n = 64;
    auto modest = [&] { return 0x2c00 + rng.below(0x1800) + rng.below(2) * 0x8000; };
    std::vector<u16> a = rng.fill<u16>(2 * n, modest), b = rng.fill<u16>(2 * n, modest), out;
    for (int i = 0; i < 8; i++) b[i] = a[i];
    std::vector<float> dots, lanes(n);
    std::vector<u32> masks;
    files.write("a", a);
    files.write("b", b);
    auto A = [&](int i) { return Half::widen(a[i]); };
    auto B = [&](int i) { return Half::widen(b[i]); };
    for (int t = 0; t < n; t++) {
        u16 sum[2] = {0, 0};
        for (int k = 0; k < 8; k++)
            for (int h = 0; h < 2; h++) sum[h] = Half::fused(A(2 * (t ^ k) + h), B(2 * t + h), Half::widen(sum[h]));
        out.insert(out.end(), sum, sum + 2);
        const double x[2] = {A(2 * t), A(2 * t + 1)}, y[2] = {B(2 * t), B(2 * t + 1)}, crossed[2] = {y[1], x[0]};
        auto both = [&](auto operation) {
            for (int h = 0; h < 2; h++) out.push_back(Half::round(operation(h)));
        };
        both([&](int h) { return x[h] + y[1 - h]; });
        both([&](int h) { return x[h] * y[1]; });
        both([&](int h) { return -x[h] - std::fabs(y[h]); });
        both([&](int h) { return std::min(x[h], y[h]); });
        both([&](int h) { return std::max(x[h], crossed[h]); });
        both([&](int h) { return x[h] >= y[h] ? 1.0 : 0.0; });
        both([&](int h) { return h ? float(x[0]) + 0.3f : float(x[1]) * 3.0f; });
        lanes[t] = std::fma(float(x[0]), float(y[0]), float(x[1]) * float(y[1]));
        u32 mask = (x[0] > y[0] ? 0xffff : 0) | (x[1] > y[1] ? 0xffff0000 : 0);
        masks.push_back(mask ^ (x[0] == y[0] && x[1] == y[1]));
    }
    for (int warp = 0; warp < n; warp += 32) {
        for (int offset = 16; offset > 0; offset /= 2)
            for (int lane = 0; lane < offset; lane++) lanes[warp + lane] += lanes[warp + lane + offset];
        dots.push_back(lanes[warp]);
    }
    files.write("out", out);
    files.write("dots", dots);
    files.write("masks", masks);
}
