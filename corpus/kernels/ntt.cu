// Number-theoretic transform of 512 points modulo 998244353 in shared memory: bit reversal, then
// butterflies with roots computed by repeated squaring.
#define MODULUS 998244353u

__device__ __forceinline__ unsigned times(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b % MODULUS);
}

__device__ unsigned power(unsigned base, unsigned exponent) {
    unsigned result = 1;
    for (; exponent; exponent >>= 1, base = times(base, base))
        if (exponent & 1) result = times(result, base);
    return result;
}

extern "C" __global__ void ntt(const unsigned *in, unsigned *out) {
    __shared__ unsigned point[512];
    unsigned t = threadIdx.x;
    for (unsigned i = t; i < 512; i += 256) point[__brev(i) >> 23] = in[blockIdx.x * 512 + i];
    for (unsigned half = 1; half < 512; half *= 2) {
        __syncthreads();
        unsigned k = t % half, low = (t / half) * 2 * half + k;
        unsigned root = power(3, (MODULUS - 1) / (2 * half) * k);
        unsigned even = point[low], odd = times(point[low + half], root);
        unsigned sum = even + odd;
        point[low] = sum >= MODULUS ? sum - MODULUS : sum;
        point[low + half] = even >= odd ? even - odd : even + MODULUS - odd;
    }
    __syncthreads();
    for (unsigned i = t; i < 512; i += 256) out[blockIdx.x * 512 + i] = point[i];
}
