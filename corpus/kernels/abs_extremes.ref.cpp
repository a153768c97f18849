// Expected output of abs_extremes.ptx, in 64 bits: the absolute value of the least integer wraps to itself.
#include "inputs.hpp"

#include <algorithm>

static s64 magnitude(s64 value) { return s32(u32(value < 0 ? -value : value)); }

static s64 negated(s64 value) { return s32(u32(-value)); }

int main(int argc, char **argv) {
    Files files(argc, argv, "abs_extremes");
    Rng rng(71);
    const int n = 64;
    std::vector<u32> as = rng.words(n), bs = rng.words(n), out;
    const u32 corners[] = {0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 0x80000001};
    for (int i = 0; i < 36; i++) as[i] = corners[i / 6], bs[i] = corners[i % 6];
    files.write("a", as);
    files.write("b", bs);
    for (int t = 0; t < n; t++) {
        const s64 a = s32(as[t]), b = s32(bs[t]);
        const s64 abs_a = magnitude(a), abs_b = magnitude(b), below = a < 0 ? a : negated(a);
        const s64 rows[] = {std::max(abs_a, b),          std::min(abs_a, b),
                            std::max(abs_a, abs_b),      s64(std::max(u32(abs_a), u32(abs_b))),
                            std::min(below, b),          std::max(below, negated(b)),
                            std::max({negated(a), b, a}), s64(std::min(u32(magnitude(s32(u32(a - b)))), 255u))};
        for (s64 row : rows) out.push_back(u32(row));
    }
    files.write("out", out);
}
