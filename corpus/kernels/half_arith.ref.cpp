// Expected outputs of half_arith.cu.
#include "narrow.hpp"

int main(int argc, char **argv) {
    Files files(argc, argv, "half_arith");
    Rng rng(43);
    const int n = 96;
    // Finite values of every exponent; the top exponents come out rarely.
    auto finite = [&] { return rng.below(0x7c00) >> (rng.below(8) == 0 ? 4 : 0) | rng.below(2) << 15; };
    std::vector<u16> a = rng.fill<u16>(n, finite), b = rng.fill<u16>(n, finite), out, integers;
    std::vector<u32> flags;
    for (int i = 0; i < 24; i++) {
        a[i] = u16(0x3000 + rng.below(0x1800));
        b[i] = u16(0xb000 + rng.below(0x1800));
    }
    a[24] = b[24] = 0x3c00, a[25] = 0x0001, b[25] = 0x8001, a[26] = 0x7bff, b[26] = 0x7bff, b[27] = a[27];
    files.write("a", a);
    files.write("b", b);
    for (int i = 0; i < n; i++) {
        const double x = Half::widen(a[i]), y = Half::widen(b[i]);
        const float f = float(x) * 1.0009765f;
        for (u16 value : {Half::round(x + y), Half::round(x - y), Half::round(x * y), Half::fused(x, y, x),
                          Half::fused(x, y, y, true), u16(a[i] ^ 0x8000), u16(b[i] & 0x7fff),
                          x < y ? a[i] : b[i], x > y ? a[i] : b[i], Half::round(std::clamp(x + y, 0.0, 1.0)),
                          Half::round(f), Half::round(f, FE_TOWARDZERO), Half::round(f, FE_UPWARD),
                          Half::round(f, FE_DOWNWARD), Half::round(i * 1300 - 60000), Half::round(double(f) * 3)})
            out.push_back(value);
        flags.push_back((x == y) | (x < y) << 1 | (x <= y) << 2 | (x > y) << 3 | (x != y) << 4 | (x >= 1) << 5);
        for (double whole : {std::nearbyint(x), std::trunc(x), std::ceil(x), std::floor(x)})
            integers.push_back(u16(s16(std::clamp(whole, -32768.0, 32767.0))));
    }
    for (u16 value : out)
        if ((value & 0x7fff) > 0x7c00) return 1;
    files.write("out", out);
    files.write("flags", flags);
    files.write("integers", integers);
}
