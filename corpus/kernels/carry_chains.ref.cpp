// Expected output of carry_chains.ptx, with carries read off wider integers.
#include "inputs.hpp"

__extension__ typedef unsigned __int128 u128;

// a + b + carry in T; the carry out replaces the carry in.
template <class T> static T add(T a, T b, bool &carry) {
    u128 sum = u128(a) + b + carry;
    carry = sum >> (8 * sizeof(T)) & 1;
    return T(sum);
}

// a - b - borrow in T; the borrow out replaces the borrow in.
template <class T> static T subtract(T a, T b, bool &borrow) {
    bool out = u128(a) < u128(b) + borrow;
    T difference = a - b - borrow;
    borrow = out;
    return difference;
}

static u32 high(u32 a, u32 b) { return u32(u64(a) * b >> 32); }
static u32 high_signed(u32 a, u32 b) { return u32(s64(s32(a)) * s32(b) >> 32); }

int main(int argc, char **argv) {
    Files files(argc, argv, "carry_chains");
    Rng rng(61);
    const int n = 64;
    std::vector<u64> a = rng.longs(2 * n), b = rng.longs(2 * n), out;
    for (int i = 0; i < 2 * n; i++) {
        if (i / 2 % 4 == 1) b[i] = ~a[i];
        if (i / 2 % 4 == 2) b[i] = a[i] + (i % 8 == 4);
        if (i / 2 % 4 == 3) a[i] |= rng.next64() | ~0ull << 32;
    }
    files.write("a", a);
    files.write("b", b);
    for (int t = 0; t < n; t++) {
        const u64 x = a[2 * t], y = a[2 * t + 1], z = b[2 * t], w = b[2 * t + 1];
        const u32 x0 = u32(x), x1 = u32(x >> 32), y0 = u32(y), y1 = u32(y >> 32);
        const u32 z0 = u32(z), z1 = u32(z >> 32), w0 = u32(w), w1 = u32(w >> 32);
        auto pair = [&](u32 low, u32 up) { out.push_back(u64(up) << 32 | low); };
        const u128 left = u128(y) << 64 | x, right = u128(w) << 64 | z, sum = left + right, product = u128(x) * z;
        out.insert(out.end(), {u64(sum), u64(sum >> 64)});
        const u64 carried = sum < left;
        out.insert(out.end(), {u64(left - right), u64((left - right) >> 64)});
        const u32 borrowed = left < right ? ~0u : 0;
        out.insert(out.end(), {u64(product), u64(product >> 64)});

        bool carry = false;
        u32 r18 = add(high(y0, w0), x0, carry), r19 = add(y1 * w1, x1, carry), r20 = add(high(y1, w0), z1, carry);
        u32 r21 = add(w1, ~0u, carry), r22 = borrowed + carry;
        pair(r18, r19);
        pair(r20, r21);
        carry = false;
        u32 r23 = add(high_signed(x0, z0), y0, carry), r24 = high_signed(x1, z1) + y1 + carry;
        carry = false;
        u32 r25 = add(x0 * z1, w0, carry);
        pair(r23, r24);
        pair(r25, borrowed + r22 + carry);

        bool borrow = false;
        u64 d10 = subtract(z, x, borrow), d11 = subtract(w, y, borrow);
        out.insert(out.end(), {d11, carried - borrow});
        carry = false;
        u64 d13 = add(x * w, y, carry), d14 = add(u64(u128(x) * w >> 64), z, carry);
        out.insert(out.end(), {d13, d14});
        u64 d15 = d10 + carry;

        carry = false;
        u32 r27 = x0 < w0 ? add(y0, w0, carry) : add(x1, z1, carry);
        out.push_back(d15 + 100 + carry);
        pair(r27, r22);
    }
    files.write("out", out);
}
