// nvcc: -Xcicc -O1
// Sums of a strided column of 64-bit words, each folded in two parts. At this level cicc neither unrolls the parts nor
// counts the product of index and stride, so both are left to ptxas.
extern "C" __global__ void strided_mix(const unsigned long long *values, unsigned long long *out, unsigned long long n,
                                       unsigned long long stride) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long sum = t;
    for (unsigned long long i = 0; i < n; i++) {
        const unsigned long long x = values[i * stride + t] ^ (i * stride);
        const unsigned half = unsigned(x ^ (x >> 32));
        for (unsigned part = 0; part < 2; part++) sum += (half >> (9 * part + 5)) ^ (part * 0x55 + 3);
    }
    out[t] = sum;
}
