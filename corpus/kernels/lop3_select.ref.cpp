// Expected output of lop3_select.ptx.
#include "inputs.hpp"

// The value of a three-input function, bit by bit: bit (4a + 2b + c) of the table.
static u32 lop3(u32 a, u32 b, u32 c, u32 table) {
    u32 d = 0;
    for (int i = 0; i < 32; i++) d |= (table >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i;
    return d;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "lop3_select");
    Rng rng(60);
    const int n = 64;
    std::vector<u32> as = rng.words(n), bs = rng.words(n), cs = rng.words(n), out;
    as[0] = 0, bs[1] = as[1], cs[2] = bs[2], cs[3] = 0x80000000, cs[4] = 0;
    files.write("a", as);
    files.write("b", bs);
    files.write("c", cs);
    for (int t = 0; t < n; t++) {
        const u32 a = as[t], b = bs[t], c = cs[t], low = a % 4;
        const bool p0 = a >> 31;
        const u32 every = a & b & c, none = ~(a | b | c);
        const bool p1 = every != 0 || p0, p2 = none != 0 && !p0;
        // Clearing bit 30 leaves a finite float, so only its sign matters, and minus zero counts as zero.
        const u32 finite = c & 0xbfffffff;
        const bool not_negative = !(finite >> 31) || finite << 1 == 0;
        const bool at_least = s32(a) >= s32(b), p3 = at_least && p0, p4 = !at_least && p0;
        const bool below = b < c, p5 = below || p4, p6 = !below || p4, p7 = (low == 1) != p5;
        const bool p8 = p3 && p5, p9 = p4 || p8, p11 = !(p9 != p7);
        u32 chosen = c > a || !p7 ? 0x3f800000 : 0;
        u32 flags = p3 + 2 * p4 + 4 * p5 + 8 * p6 + 16 * p8 + 32 * p9 + 64 * p11;
        const u64 x = u64(b) << 32 | a, y = u64(a) << 32 | c, mixed = ~((x & y) ^ (x | 0x0000ffff0000ffff));
        u32 row[4] = {a ^ b ^ c, (a & b) | (b & c) | (a & c), (a & b) | (~a & c), lop3(a, b, c, 0x10)};
        u32 rest[20] = {every, none, p1 ? a ^ b : lop3(a, 0x0ff0, c, 0x6b), p2 ? 17 : none,
                        s32(c) >= 0 ? a : b, s32(a) >= 0 ? c : 5, not_negative ? a : b, a,
                        low == 0, (low == 0) * 257u, s32(a) < s32(b) ? ~0u : 0, a > b ? 0x3f800000u : 0,
                        b != c && p6 ? ~0u : 0, p11 ? ~chosen : chosen, p11 ? flags : flags ^ 0x1000, a == 0,
                        u32(mixed), u32(mixed >> 32), u32(u16(~(a >> 16))) | u32(u16(a ^ a >> 16)) << 16, p3 ? a : c};
        out.insert(out.end(), row, row + 4);
        out.insert(out.end(), rest, rest + 20);
    }
    files.write("out", out);
}
