// The reduce_*_sync family, full and partial masks, signed and unsigned.
extern "C" __global__ void warp_reduce(const int *in, int *out) {
    unsigned t = threadIdx.x, n = blockDim.x;
    int value = in[t];
    unsigned bits = value;
    out[t] = __reduce_add_sync(~0u, value);
    out[n + t] = __reduce_min_sync(~0u, value);
    out[2 * n + t] = __reduce_max_sync(~0u, value);
    out[3 * n + t] = __reduce_min_sync(~0u, bits);
    out[4 * n + t] = __reduce_max_sync(~0u, bits);
    out[5 * n + t] = __reduce_and_sync(~0u, bits | 0x0f0f0f0f);
    out[6 * n + t] = __reduce_or_sync(~0u, bits & 0x11111111);
    out[7 * n + t] = __reduce_xor_sync(~0u, bits);
    if (t % 4 == 1)
        out[8 * n + t] = __reduce_add_sync(0x22222222, bits);
    else
        out[8 * n + t] = __reduce_max_sync(0xdddddddd, value);
}
