// Expected output of packed_video.ptx: lanes taken apart, computed in 64 bits, put together again.
#include "inputs.hpp"
#include <algorithm>

// Part `index` of a word cut in parts of `bits`, sign- or zero-extended.
static s64 part(u32 word, int bits, int index, bool is_signed) {
    u32 raw = word >> bits * index;
    if (bits == 8) return is_signed ? s64(s8(raw)) : s64(u8(raw));
    return is_signed ? s64(s16(raw)) : s64(u16(raw));
}

static s64 byte(u32 word, int index, bool is_signed = false) { return part(word, 8, index, is_signed); }
static s64 half(u32 word, int index, bool is_signed = false) { return part(word, 16, index, is_signed); }

struct Packed {
    u32 a, b, c;
    int bits;

    // Applies the operation lane by lane; lanes outside the mask come from c.
    u32 merge(auto operation, bool is_signed, int mask = 15, bool reversed = false) const {
        u32 result = 0;
        const int lanes = 32 / bits;
        for (int i = 0; i < lanes; i++) {
            s64 x = part(a, bits, reversed ? lanes - 1 - i : i, is_signed), y = part(b, bits, i, is_signed);
            s64 value = mask >> i & 1 ? operation(x, y) : part(c, bits, i, false);
            result |= (u32(value) & (bits == 8 ? 0xff : 0xffff)) << bits * i;
        }
        return result;
    }

    // Applies the operation lane by lane and adds all results to `start`.
    u32 sum(auto operation, bool is_signed, u32 start) const {
        for (int i = 0; i < 32 / bits; i++)
            start += u32(operation(part(a, bits, i, is_signed), part(b, bits, i, is_signed)));
        return start;
    }
};

int main(int argc, char **argv) {
    Files files(argc, argv, "packed_video");
    Rng rng(68);
    const int n = 64;
    std::vector<u32> as = rng.words(n), bs = rng.words(n), cs = rng.words(n), out;
    as[0] = 0x80807f7f, bs[0] = 0x80807f7f, as[1] = 0xffff0001, bs[1] = 0xffff0001, bs[2] = as[2];
    for (int i = 8; i < 40; i++) bs[i] = (bs[i] & 0xffffff00) | rng.below(40);
    files.write("a", as);
    files.write("b", bs);
    files.write("c", cs);
    auto subtract = [](s64 x, s64 y) { return x - y; };
    auto difference = [](s64 x, s64 y) { return x > y ? x - y : y - x; };
    auto least = [](s64 x, s64 y) { return std::min(x, y); };
    auto most = [](s64 x, s64 y) { return std::max(x, y); };
    auto average = [](s64 x, s64 y) { return (x + y + 1) / 2; };
    for (int t = 0; t < n; t++) {
        const u32 a = as[t], b = bs[t], c = cs[t];
        const Packed two{a, b, c, 16}, four{a, b, c, 8};
        auto put = [&](std::initializer_list<s64> values) {
            for (s64 value : values) out.push_back(u32(value));
        };
        put({byte(a, 1) + half(b, 0, true), std::clamp<s64>(s64(s32(a)) - byte(b, 3, true), INT32_MIN, INT32_MAX),
             difference(half(a, 1, true), half(b, 0, true)), least(byte(a, 0, true), byte(b, 2))});
        const u32 shift = u8(b);
        put({most(half(a, 0), half(b, 1)) + c, least(std::max<s64>(byte(a, 2, true) + byte(b, 0, true), 0), c),
             (c & 0xff00ffff) | u32(u8(a - (b >> 8))) << 16, shift < 32 ? s64(u64(a) << shift) : 0});
        put({s32(a) >> shift % 32, half(a, 0, true) * half(b, 1, true) + s32(c), (byte(a, 3) * byte(b, 2) + (c >> 1)) >> 7,
             byte(a, 0, true) < byte(b, 0, true)});
        put({two.merge([](s64 x, s64 y) { return std::clamp<s64>(x + y, -32768, 32767); }, true),
             two.merge(subtract, false, 2), two.sum(difference, false, c), two.merge(least, true)});
        put({two.merge(most, false, 3, true), two.merge(average, false),
             two.merge([](s64 x, s64 y) { return s64(x >= y); }, false),
             two.sum([](s64 x, s64 y) { return s64(x != y); }, true, c)});
        put({four.merge([](s64 x, s64 y) { return std::min<s64>(x + y, 255); }, false), four.merge(subtract, true),
             four.sum(difference, false, c), four.merge(least, false, 5)});
        put({four.merge(most, true, 15, true), four.merge(average, false),
             four.merge([](s64 x, s64 y) { return s64(x > y); }, false),
             four.sum([](s64 x, s64 y) { return s64(x == y); }, true, c)});
        put({four.sum(difference, true, c), half(a, 1, true) + half(b, 0, true), two.sum(subtract, true, c),
             std::max<s64>(byte(a, 1) == byte(b, 1), c)});
    }
    files.write("out", out);
}
