// base ^ exponent mod modulus for odd 63-bit moduli by Montgomery multiplication.
typedef unsigned long long u64;

__device__ __forceinline__ u64 montgomery(u64 a, u64 b, u64 modulus, u64 inverse) {
    u64 low = a * b, high = __umul64hi(a, b);
    u64 q = low * inverse, reduced = high - __umul64hi(q, modulus);
    return high < __umul64hi(q, modulus) ? reduced + modulus : reduced;
}

extern "C" __global__ void modpow(const u64 *bases, const unsigned *exponents, const u64 *moduli, u64 *powers) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 modulus = moduli[i], inverse = modulus;
    for (int step = 0; step < 5; step++) inverse *= 2 - modulus * inverse;
    u64 one = (0 - modulus) % modulus, base = bases[i] % modulus;
    // base * 2^64 mod modulus by 64 doublings.
#pragma unroll 1
    for (int step = 0; step < 64; step++) {
        base <<= 1;
        if (base >= modulus) base -= modulus;
    }
    u64 result = one;
    for (unsigned exponent = exponents[i]; exponent; exponent >>= 1) {
        if (exponent & 1) result = montgomery(result, base, modulus, inverse);
        base = montgomery(base, base, modulus, inverse);
    }
    powers[i] = montgomery(result, 1, modulus, inverse);
}
