// Bit counting, reversal and searching in 32 and 64 bits, byte permutation, funnel shifts, four- and
// two-way dot products, Morton codes, Gray codes, next permutation of bits.
typedef unsigned long long u64;

extern "C" __global__ void bit_tricks(const unsigned *a, const unsigned *b, unsigned *out, u64 *wide) {
    unsigned t = threadIdx.x, x = a[t], y = b[t], s = y % 80, *o = out + 20 * t;
    u64 z = (u64)x << 32 | y;
    o[0] = __popc(x) + 100 * __clz(y) + 10000 * __ffs(x & y);
    o[1] = __popcll(z) + 100 * __clzll(z >> (y & 63)) + 10000 * __ffsll((long long)(z & ~0xfffffull));
    o[2] = __brev(x);
    o[3] = __byte_perm(x, y, 0x5140);
    o[4] = __byte_perm(x, y, y >> 7);
    o[5] = __funnelshift_l(x, y, s);
    o[6] = __funnelshift_r(x, y, s);
    o[7] = __funnelshift_lc(x, y, s);
    o[8] = __funnelshift_rc(x, y, s);
    o[9] = __dp4a((int)x, (int)y, 7);
    o[10] = __dp4a(x, y, 7u);
    o[11] = __dp2a_lo((int)x, (int)y, -3);
    o[12] = __dp2a_hi((int)x, (int)y, 1000);
    o[13] = x ^ x >> 1;
    unsigned low = x & -x, ripple = x + low;
    o[14] = ripple == 0 ? 0 : ripple | (((x ^ ripple) >> 2) >> (__ffs(low) - 1));
    unsigned parity = x ^ y;
    parity ^= parity >> 16, parity ^= parity >> 8, parity ^= parity >> 4;
    o[15] = 0x6996 >> (parity & 15) & 1;
    o[16] = (x & y) | (~x & s);
    o[17] = ((int)(x << 7) >> 20) + (y >> 9 & 0x3ff) + (int)(signed char)(x >> 8);
    o[18] = x << (y & 31) | (int)y >> (x & 31);
    o[19] = (x & 0xff00ff) << 8 | (x >> 8 & 0xff00ff);
    u64 morton = 0;
    for (int bit = 0; bit < 32; bit++) morton |= (u64)(x >> bit & 1) << (2 * bit) | (u64)(y >> bit & 1) << (2 * bit + 1);
    wide[2 * t] = morton;
    wide[2 * t + 1] = __brevll(z) ^ (s < 64 ? z >> s : 0);
}
