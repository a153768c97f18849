// Expected output of wide_results.ptx.
#include "inputs.hpp"

#include <cstring>

int main(int argc, char **argv) {
    Files files(argc, argv, "wide_results");
    Rng rng(131);
    const int n = 64;
    std::vector<u32> in = rng.words(2 * n), out;
    for (int t = 0; t < n; t += 8) {
        in[2 * t + 1] = in[2 * t];               // equal
        in[2 * t + 2] = 0x7fc00000 + t;          // not a number
        in[2 * t + 5] = 0x80000000 | in[2 * t + 5]; // below zero
    }
    files.write("in", in);
    for (int t = 0; t < n; t++) {
        const u32 a = in[2 * t], b = in[2 * t + 1];
        float x, y;
        std::memcpy(&x, &a, 4);
        std::memcpy(&y, &b, 4);
        const bool less = s32(a) < s32(b), high = a > 0x80000000u, ordered = x <= y;
        const u64 w = less ? a : 5;
        s64 z = high ? -7 : s64(s32(b));
        z += ordered ? s64(0x123456789abcdef) : s64(s16(a >> 16));
        const u32 h = high ? 9 : u32(s32(s8(a >> 8)));
        const u32 k = less ? 0xf0f0f0f0u : b >> 16 & 0xff;
        const u32 flags = u32(less) | u32(!less) << 1 | u32(ordered) << 2 | u32(a == b) << 3 |
                          u32(s32(b) < 0 && less) << 4 | u32(s32(b) >= 0 && less) << 5;
        // Halves of w where the floats are ordered, then what later guards make of them.
        u32 l = ordered ? u32(w) : 1, m = ordered ? u32(w >> 32) : 2;
        const u64 packed = less ? 3 : u64(a) << 32 | m;
        const u32 low = a == b ? b & 0xffff : 4, top = a == b ? b >> 16 : 5;
        if (high) m = a;
        if (!less) l = low << 16 | top;
        l ^= top << 16 | low;
        const u32 row[12] = {u32(w), u32(w >> 32), u32(u64(z)), u32(u64(z) >> 32), h, k, flags, u32(t),
                             l, m, u32(packed), u32(packed >> 32)};
        out.insert(out.end(), row, row + 12);
    }
    files.write("out", out);
}
