// Expected output of byte_fields.ptx: every operation bit by bit or byte by byte.
#include "inputs.hpp"
#include <algorithm>
#include <bit>

template <class T> constexpr int BITS = 8 * sizeof(T);

template <class T> static bool bit(T x, u32 i) { return i < u32(BITS<T>) && (x >> i & 1); }

// Four byte numbers, lowest first; a number from 8 on stands for the sign of byte number - 8.
static u32 gather(u32 a, u32 b, std::initializer_list<u32> numbers) {
    u32 result = 0, place = 0;
    for (u32 number : numbers) {
        u32 byte = (number % 8 < 4 ? a >> 8 * (number % 8) : b >> 8 * (number % 8 - 4)) & 255;
        if (number >= 8) byte = byte >= 128 ? 255 : 0;
        result |= byte << 8 * place++;
    }
    return result;
}

// A field that reaches past the register is filled with zeros, or with the sign bit where the type is
// signed; the sign is the field's top bit, at the latest the register's.
template <class T> static T extract(T a, u32 position, u32 length, bool is_signed) {
    T result = 0;
    bool sign = is_signed && length > 0 && bit(a, std::min<u32>(position + length - 1, BITS<T> - 1));
    for (u32 i = 0; i < u32(BITS<T>); i++) {
        bool one = i < length && position + i < u32(BITS<T>) ? bit(a, position + i) : sign;
        result |= T(one) << i;
    }
    return result;
}

template <class T> static T insert(T field, T base, u32 position, u32 length) {
    for (u32 i = 0; i < length && position + i < u32(BITS<T>); i++) {
        T place = T(1) << (position + i);
        base = bit(field, i) ? base | place : base & ~place;
    }
    return base;
}

template <class T> static u32 find(T x, bool is_signed) {
    if (is_signed && bit(x, BITS<T> - 1)) x = ~x;
    return u32(BITS<T> - 1 - std::countl_zero(x));
}

template <class T> static u32 find_shift(T x, bool is_signed) {
    u32 found = find(x, is_signed);
    return found == ~0u ? ~0u : BITS<T> - 1 - found;
}

template <class T> static T reverse(T x) {
    T r = 0;
    for (u32 i = 0; i < u32(BITS<T>); i++) r |= T(bit(x, i)) << (BITS<T> - 1 - i);
    return r;
}

static u32 extend(u32 a, u32 length, bool is_signed, bool wrap) {
    if (wrap) length %= 32;
    if (length >= 32) return a;
    u32 mask = (1u << length) - 1;
    return (a & mask) | (is_signed && length > 0 && bit(a, length - 1) ? ~mask : 0);
}

static u32 mask(u32 position, u32 length, bool wrap) {
    u32 result = 0;
    if (wrap) position %= 32, length %= 32;
    for (u32 i = position; i < 32 && i - position < length; i++) result |= 1u << i;
    return result;
}

// The nth set bit from `base` on, upwards for positive n and downwards for negative n.
static u32 nth_set(u32 x, int base, int n) {
    if (n == 0) return bit(x, u32(base)) ? u32(base) : ~0u;
    int step = n > 0 ? 1 : -1, left = n > 0 ? n : -n;
    for (int i = base; i >= 0 && i < 32; i += step)
        if (bit(x, u32(i)) && --left == 0) return u32(i);
    return ~0u;
}

int main(int argc, char **argv) {
    Files files(argc, argv, "byte_fields");
    Rng rng(62);
    const int n = 96;
    std::vector<u32> as = rng.words(n), bs = rng.words(n), cs = rng.words(n), out;
    as[0] = 0, as[1] = ~0u, bs[2] = 0, bs[3] = ~0u, cs[3] = ~0u, cs[4] = 0;
    for (int i = 8; i < 64; i++) cs[i] &= 0x1f1f0f1f;
    files.write("a", as);
    files.write("b", bs);
    files.write("c", cs);
    for (int t = 0; t < n; t++) {
        const u32 a = as[t], b = bs[t], c = cs[t], k = c % 4;
        const u32 position = c % 64, length = c >> 8 & 63, position64 = c >> 16 & 127, length64 = c >> 24 & 127;
        const u64 x = u64(b) << 32 | a, y = u64(c) << 32 | b, pair = x;
        const u32 shifted = position < 32 ? a >> position : 0;
        const u64 shifted64 = x >> position;
        auto put = [&](std::initializer_list<u32> words) { out.insert(out.end(), words); };
        auto put64 = [&](u64 value) { put({u32(value), u32(value >> 32)}); };
        put({gather(a, b, {c & 15, c >> 4 & 15, c >> 8 & 15, c >> 12 & 15}), gather(a, b, {8, 9, 10, 11}),
             gather(a, b, {k, k + 1, k + 2, k + 3}),
             gather(a, b, {k, (k + 7) % 8, (k + 6) % 8, (k + 5) % 8})});
        put({gather(a, b, {k, k, k, k}),
             gather(a, b, {std::max(k, 0u), std::max(k, 1u), std::max(k, 2u), 3}),
             gather(a, b, {0, std::min(k, 1u), std::min(k, 2u), std::min(k, 3u)}),
             gather(a, b, {k % 2 * 2, k % 2 * 2 + 1, k % 2 * 2, k % 2 * 2 + 1})});
        put({extract(a, position, length, false), extract(a, position, length, true), insert(b, a, position, length),
             insert(~0u, b, 7, 9)});
        put64(extract(x, position64, length64, false));
        put64(extract(x, position64, length64, true));
        put64(insert(y, x, position64, length64));
        put64(extract(y, 30, 5, true));
        put({find(shifted, false), find(a, true), find_shift(shifted, false), find_shift(b, true)});
        put({find(shifted64, false), find(y, true), find_shift(shifted64, false), reverse(c)});
        put64(reverse(y));
        put({u32(std::popcount(shifted) * 1000 + std::popcount(x)),
             u32(std::countl_zero(shifted) * 1000 + std::countl_zero(shifted64))});
        put({extend(a, position, true, false), extend(a, position, true, true), extend(b, length, false, false),
             mask(position, length, false)});
        const u32 clamped = std::min(position, 32u), clamped_right = std::min(length, 32u);
        put({mask(position, length, true), u32(pair << position % 32 >> 32),
             clamped == 32 ? a : u32(pair << clamped >> 32), u32(pair >> length % 32)});
        const int base = int(c % 32);
        put({u32(pair >> clamped_right),
             nth_set(a, base, 3) ^ nth_set(a, base, -2) << 8 ^ nth_set(a, base, 0) << 16,
             position < 32 ? a << position : 0, u32(s32(b) >> std::min(position, 31u))});
    }
    files.write("out", out);
}
