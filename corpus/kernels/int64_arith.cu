// 64- and 32-bit integer arithmetic: high products, quotients and remainders of both signs, shifts by
// variable amounts, widening and narrowing, multiply-add, absolute value, average, 24-bit products.
typedef unsigned long long u64;
typedef long long s64;

extern "C" __global__ void int64_arith(const u64 *a, const u64 *b, u64 *out, unsigned *narrow) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 x = a[i], y = b[i] | 1, *o = out + 12 * i;
    s64 sx = x, sy = y;
    o[0] = __umul64hi(x, y);
    o[1] = __mul64hi(sx, sy);
    o[2] = x / y;
    o[3] = x % y;
    o[4] = sy == -1 ? 0 : sx / sy;
    o[5] = sy == -1 ? 0 : sx % sy;
    o[6] = x << (y & 63) | x >> (-y & 63);
    o[7] = sx >> (y >> 58);
    o[8] = (u64)(unsigned)x * (unsigned)y + (s64)(int)x * (int)(y >> 32);
    o[9] = x / 1000000007 + sx / 12345 + sx % 64;
    o[10] = sx < 0 ? -sx : sx;
    o[11] = (x < y) | (sx < sy) << 1 | (u64)(x == y) << 2 | (u64)min(sx, sy) << 8;
    unsigned p = x >> 16, q = (unsigned)y | 1, *w = narrow + 10 * i;
    int sp = p, sq = q;
    w[0] = __umulhi(p, q);
    w[1] = __mulhi(sp, sq);
    w[2] = p / q + p % q;
    w[3] = sq == -1 ? 0 : sp / sq * 7 + sp % sq;
    w[4] = sp / 7 + sp % 10 + p / 641;
    w[5] = __umul24(p, q) + __mul24(sp, sq);
    w[6] = __usad(p, q, 5) + __sad(sp, sq, 9);
    w[7] = __hadd(sp, sq) ^ __urhadd(p, q);
    w[8] = abs(sp) + max(sp, sq) - min(p, q);
    w[9] = (unsigned)(unsigned char)p * (signed char)q + (short)sp * (unsigned short)q;
}
