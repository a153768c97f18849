// Expected output of mixed_integer.ptx.
#include "inputs.hpp"
#include <algorithm>

__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

static s64 low24(u32 x) { return s32(x << 8) >> 8; }
static u32 clamp32(s64 x) { return u32(s32(std::clamp<s64>(x, INT32_MIN, INT32_MAX))); }
static u32 pack(u32 low, u32 high) { return (low & 0xffff) | high << 16; }

template <class T> static T distance(T a, T b) { return a > b ? T(a) - T(b) : T(b) - T(a); }

int main(int argc, char **argv) {
    Files files(argc, argv, "mixed_integer");
    Rng rng(66);
    const int n = 64;
    auto mixed = [&] { return rng.below(4) ? rng.next32() : s32(rng.next32()) >> rng.below(31); };
    std::vector<u32> as = rng.fill<u32>(n, mixed), bs = rng.fill<u32>(n, mixed), cs = rng.fill<u32>(n, mixed), out;
    as[0] = bs[0] = 0x80000000, cs[0] = 0x7fffffff, as[1] = bs[1] = 0x7fffffff, cs[1] = 0x80000000;
    as[2] = bs[2] = cs[2] = 0, as[3] = bs[3] = cs[3] = ~0u, as[4] = 0x7fff7fff, bs[4] = 0x80008000;
    files.write("a", as);
    files.write("b", bs);
    files.write("c", cs);
    for (int t = 0; t < n; t++) {
        const u32 a = as[t], b = bs[t], c = cs[t];
        const s64 sa = s32(a), sb = s32(b), sc = s32(c), signed24 = low24(a) * low24(b);
        const u64 unsigned24 = u64(a & 0xffffff) * (b & 0xffffff);
        const u16 al = u16(a), ah = u16(a >> 16), bl = u16(b), bh = u16(b >> 16), odd = bl | 1;
        auto put = [&](std::initializer_list<u32> words) { out.insert(out.end(), words); };
        auto put64 = [&](u64 value) { put({u32(value), u32(value >> 32)}); };
        auto halves = [&](auto operation) { return pack(u32(operation(al, bl)), u32(operation(ah, bh))); };
        put({u32(unsigned24), u32(unsigned24 >> 16), u32(signed24), u32(signed24 >> 16)});
        put({u32(unsigned24) + c, u32(signed24 >> 16) + c, clamp32(s32(signed24 >> 16) + sc), clamp32((sa * sb >> 32) + sc)});
        put({distance(a, b) + c, u32(distance<s64>(sa, sb)) + c, clamp32(sa + sb), clamp32(sa - sc)});
        put({pack(distance<u32>(al, bl) + ah, u32(distance<s32>(s16(al), s16(bl))) + bh),
             pack(u32(al) * bl >> 16, u32(s16(al) * s16(bl) >> 16)), pack(al / odd, al % odd),
             pack(u16(std::max(s16(ah), s16(bh))), std::min(ah, bh))});
        put({pack(u32(s16(ah) >> 5), t < 16 ? u32(ah) << t : 0),
             pack(0u - ah, u32(s16(bh) < 0 ? -s16(bh) : s16(bh))), u32(s16(ah) * s16(bh)), u32(ah) * bh + c});
        auto least = [](u16 x, u16 y) { return std::min(s16(x), s16(y)); };
        auto most = [](u16 x, u16 y) { return std::max(s16(x), s16(y)); };
        put({halves([](u32 x, u32 y) { return x + y; }), pack(al + c, ah + (c >> 16)), halves(least),
             halves([](u16 x, u16 y) { return std::max(x, y); })});
        put({halves([&](u16 x, u16 y) { return std::max<int>(most(x, y), 0); }),
             halves([&](u16 x, u16 y) { return std::max<int>(least(x, y), 0); }),
             u32(std::max<s64>(std::min(sa, sb), 0)), u32(std::max({sa, sb, s64(0)}))});
        u32 mixed4 = c, other4 = c;
        for (int i = 0; i < 32; i += 8) {
            mixed4 += u32(s8(a >> i) * s32(u8(b >> i)));
            other4 += u32(s32(u8(a >> i)) * s8(b >> i));
        }
        put({mixed4, other4, c + u32(al * s8(b)) + u32(ah * s8(b >> 8)),
             c + u32(s16(al) * s32(u8(b >> 16))) + u32(s16(ah) * s32(u8(b >> 24)))});
        const u64 x = u64(b) << 32 | a, y = u64(c) << 32 | b;
        const s64 sx = s64(x), sy = s64(y);
        put64(u64(s128(sx) * sy >> 64));
        put64(u64(u128(x) * y >> 64) + x);
        put64((sx > sy ? x - y : y - x) + 77);
        put64(distance(x, y) + x);
        put64(x % (y | 3));
        put64(u64(std::min(sx, sy)) ^ std::max(x, y));
        put64((sx < 0 ? 0 - x : x) - y);
        put64(u64(sa * sb) + y);
    }
    files.write("out", out);
}
