// Expected output of half_forms.ptx.
#include "narrow.hpp"
#include <bit>

static u32 pair(u32 low, u32 high) { return (low & 0xffff) | high << 16; }
static u32 clamp(u32 value, s32 low, s32 high) { return u32(std::clamp(s32(value), low, high)); }

// Rounds to ten bits of fraction, ties away from zero.
static u32 tf32(float value) { return (std::bit_cast<u32>(value) + 0x1000) & 0xffffe000; }

int main(int argc, char **argv) {
    Files files(argc, argv, "half_forms");
    Rng rng(81);
    const int n = 96;
    auto modest = [&] { return 0x2c00 + rng.below(0x1800) + rng.below(2) * 0x8000; };
    std::vector<u16> as = rng.fill<u16>(2 * n, modest), bs = rng.fill<u16>(2 * n, modest);
    std::vector<u32> cs = rng.fill<u32>(n, [&] { return s32(rng.next32()) >> rng.below(20); }), out;
    for (int i = 0; i < 20; i += 3) bs[i] = as[i];
    files.write("a", as);
    files.write("b", bs);
    files.write("c", cs);
    for (int t = 0; t < n; t++) {
        const u16 *a = &as[2 * t], *b = &bs[2 * t];
        const u32 a32 = pair(a[0], a[1]), b32 = pair(b[0], b[1]), c = cs[t];
        double x[2], y[2];
        for (int h = 0; h < 2; h++) x[h] = Half::widen(a[h]), y[h] = Half::widen(b[h]);
        auto both = [&](auto operation) { out.push_back(pair(operation(0), operation(1))); };
        both([&](int h) { return Half::round(std::clamp(x[h] + y[h], 0.0, 1.0)); });
        both([&](int h) { return Half::round(x[h] - y[h]); });
        both([&](int h) { return Half::round(std::clamp(Half::widen(Half::fused(x[h], y[h], x[h])), 0.0, 1.0)); });
        both([&](int h) { return Half::fused(x[h], y[h], y[h], true); });
        both([&](int h) { return x[h] < y[h] ? a[h] : b[h]; });
        both([&](int h) { return x[h] > y[h] ? a[h] : b[h]; });
        both([&](int h) { return std::min(a[h] & 0x7fff, b[h] & 0x7fff) | ((a[h] ^ b[h]) & 0x8000); });
        both([&](int h) { return a[h] ^ 0x8000; });
        const bool p0 = x[0] < y[0], above = x[0] > y[1];
        out.push_back(p0 + 2 * (x[1] < y[1]) + 4 * (above && p0) + 8 * (!above && p0));
        both([&](int h) { return x[h] >= y[h] ? 0x3c00 : 0; });
        out.push_back(x[1] < y[0] ? ~0u : 0);
        both([&](int h) { return b[h] & 0x7fff; });

        const float f = float(x[0]) * 0x1.921fb6p+1f, g = float(y[1]) * 0x1.555556p-2f;
        auto positive = [](float v, u16 bits) { return v > 0 ? bits : u16(0); };
        out.push_back(pair(Half::round(g), Half::round(f)));
        out.push_back(pair(positive(g, Half::round(g, FE_TOWARDZERO)), positive(f, Half::round(f, FE_TOWARDZERO))));
        out.push_back(pair(Bfloat::round(g), Bfloat::round(f)));
        out.push_back(pair(positive(f, Bfloat::round(f)), positive(g, Bfloat::round(g))));
        out.push_back(pair(Bfloat::round(f, FE_TOWARDZERO), Half::round(std::clamp(double(g), 0.0, 1.0))));
        out.push_back(pair(Half::round(std::ceil(x[0])), Half::round(std::trunc(y[1]))));
        out.push_back(u32(s32(std::nearbyint(x[1]))));
        out.push_back(u32(std::max(std::floor(y[0]), 0.0)));

        const u32 low = c % 512 - 100, high = u32(s32(c) >> 22);
        const u32 bytes = clamp(high, 0, 255) | clamp(low, 0, 255) << 8 | a32 << 16;
        out.push_back(tf32(f));
        out.push_back(pair(clamp(c, -32768, 32767), clamp(a32, -32768, 32767)));
        out.push_back(pair(clamp(b32, 0, 65535), clamp(c, 0, 65535)));
        out.push_back(bytes);
        out.push_back((clamp(low, -128, 127) & 255) | (clamp(high, -128, 127) & 255) << 8 | bytes << 16);
        const u16 product = Half::round(x[0] * y[0]);
        out.push_back(pair(product, Half::round(Half::widen(product) + x[1])));
        const u16 bfloat = Bfloat::round(y[1]);
        const double wide = Bfloat::widen(bfloat);
        out.push_back(pair(Half::round(low & 0xfff), bfloat));
        const u16 fused = Bfloat::fused(wide, wide, wide);
        out.push_back(pair(fused, fused ^ 0x8000));
    }
    files.write("out", out);
}
