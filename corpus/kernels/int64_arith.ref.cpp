// Expected outputs of int64_arith.cu: wide arithmetic by 128-bit integers.
#include "inputs.hpp"
#include <algorithm>
#include <bit>

__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

static s32 low24(u32 x) { return s32(x << 8) >> 8; }

int main(int argc, char **argv) {
    Files files(argc, argv, "int64_arith");
    Rng rng(31);
    const int n = 128;
    auto mixed = [&] { return rng.next64() >> rng.below(64) ^ -u64(rng.below(2)); };
    std::vector<u64> a = rng.fill<u64>(n, mixed), b = rng.fill<u64>(n, mixed), out;
    std::vector<u32> narrow;
    a[0] = 1ull << 63, b[0] = ~0ull;
    a[1] = b[1] = 0;
    files.write("a", a);
    files.write("b", b);
    for (int i = 0; i < n; i++) {
        u64 x = a[i], y = b[i] | 1;
        s64 sx = x, sy = y;
        u64 row[12] = {
            u64(u128(x) * y >> 64), u64(s128(sx) * sy >> 64), x / y, x % y,
            sy == -1 ? 0 : u64(sx / sy), sy == -1 ? 0 : u64(sx % sy), std::rotl(x, y & 63), u64(s128(sx) >> (y >> 58)),
            (x & 0xffffffff) * (y & 0xffffffff) + u64(s64(s32(x)) * s32(y >> 32)),
            x / 1000000007 + u64(sx / 12345) + u64(sx % 64), sx < 0 ? 0 - x : x,
            u64(x < y) + 2 * u64(sx < sy) + 4 * u64(x == y) + (u64(std::min(sx, sy)) << 8)};
        // Bits 0 to 2 of the last result lie below the shifted minimum, so adding is the same as oring.
        out.insert(out.end(), row, row + 12);
        u32 p = u32(x >> 16), q = u32(y) | 1;
        s32 sp = p, sq = q;
        u32 sums = (p > q ? p - q : q - p) + 5 + u32(std::abs(s64(sp) - sq)) + 9;
        u32 cells[10] = {
            u32(u64(p) * q >> 32), u32(s64(sp) * sq >> 32), p / q + p % q,
            sq == -1 ? 0 : u32(sp / sq) * 7 + u32(sp % sq), u32(sp / 7) + u32(sp % 10) + p / 641,
            u32(u64(p & 0xffffff) * (q & 0xffffff)) + u32(s64(low24(p)) * low24(q)), sums,
            u32((s64(sp) + sq) >> 1) ^ u32((u64(p) + q + 1) >> 1),
            (sp < 0 ? 0 - p : p) + u32(std::max(sp, sq)) - std::min(p, q),
            u32(p & 255) * u32(s32(s8(q))) + u32(s64(s16(p)) * u16(q))};
        narrow.insert(narrow.end(), cells, cells + 10);
    }
    files.write("out", out);
    files.write("narrow", narrow);
}
