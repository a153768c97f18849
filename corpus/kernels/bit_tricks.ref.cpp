// Expected outputs of bit_tricks.cu, bit by bit and byte by byte.
#include "inputs.hpp"
#include <algorithm>
#include <bit>

static int first_set(u64 x) { return x ? std::countr_zero(x) + 1 : 0; }

template <class T> static T reverse(T x) {
    T r = 0;
    for (unsigned i = 0; i < 8 * sizeof x; i++) r = r << 1 | (x >> i & 1);
    return r;
}

static u32 permute(u32 x, u32 y, u32 selector) {
    u32 r = 0;
    for (int i = 0; i < 4; i++) {
        u32 from = selector >> 4 * i & 7;
        r |= ((from < 4 ? x >> 8 * from : y >> 8 * (from - 4)) & 255) << 8 * i;
    }
    return r;
}

static u32 next_permutation(u32 x) {
    if (x == 0) return 0;
    int zeros = std::countr_zero(x), end = zeros + std::countr_one(x >> zeros);
    if (end == 32) return 0;
    return (x >> end | 1) << end | ((1u << (end - zeros - 1)) - 1);
}

int main(int argc, char **argv) {
    Files files(argc, argv, "bit_tricks");
    Rng rng(46);
    const int n = 96;
    std::vector<u32> a = rng.fill<u32>(n, [&] { return rng.next32() >> rng.below(32); }), b = rng.words(n), out;
    std::vector<u64> wide;
    a[0] = 0, b[1] = 0, a[2] = 0x80000000, a[3] = 0xc0000000;
    files.write("a", a);
    files.write("b", b);
    for (int t = 0; t < n; t++) {
        const u32 x = a[t], y = b[t], s = y % 80, clamped = std::min(s, 32u);
        const u64 z = u64(x) << 32 | y, pair = u64(y) << 32 | x;
        s32 signed4 = 7, low2 = -3, high2 = 1000;
        u32 unsigned4 = 7, choice = 0;
        for (int i = 0; i < 4; i++) {
            signed4 += s8(x >> 8 * i) * s8(y >> 8 * i);
            unsigned4 += (x >> 8 * i & 255) * (y >> 8 * i & 255);
        }
        for (int i = 0; i < 2; i++) {
            low2 += s16(x >> 16 * i) * s8(y >> 8 * i);
            high2 += s16(x >> 16 * i) * s8(y >> (16 + 8 * i));
        }
        for (int i = 0; i < 32; i++) choice |= ((x >> i & 1 ? y : s) >> i & 1) << i;
        const u32 field = x << 7 >> 20;
        u32 row[20] = {
            u32(std::popcount(x) + 100 * std::countl_zero(y) + 10000 * first_set(x & y)),
            u32(std::popcount(z) + 100 * std::countl_zero(z >> (y & 63)) + 10000 * first_set(z >> 20 << 20)),
            reverse(x), permute(x, y, 0x5140), permute(x, y, y >> 7),
            u32(pair << s % 32 >> 32), u32(pair >> s % 32),
            clamped == 32 ? x : u32(pair << clamped >> 32), clamped == 32 ? y : u32(pair >> clamped),
            u32(signed4), unsigned4, u32(low2), u32(high2), x ^ x / 2, next_permutation(x),
            u32(std::popcount(x ^ y)) % 2, choice,
            (field & 0x800 ? field - 0x1000 : field) + y / 512 % 1024 + u32(s8(x >> 8)),
            x << y % 32 | u32(s32(y) >> x % 32), permute(x, 0, 0x2301)};
        out.insert(out.end(), row, row + 20);
        u64 morton = 0;
        for (int bit = 31; bit >= 0; bit--) morton = morton << 2 | (y >> bit & 1) << 1 | (x >> bit & 1);
        wide.push_back(morton);
        wide.push_back(reverse(z) ^ (s < 64 ? z >> s : 0));
    }
    files.write("out", out);
    files.write("wide", wide);
}
