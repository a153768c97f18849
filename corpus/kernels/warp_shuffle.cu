// Every shuffle: up, down, butterfly and indexed; full and sub-warp widths; 32- and 64-bit values;
// lane numbers that vary by thread or lie outside the segment; a member mask of half a warp.
extern "C" __global__ void warp_shuffle(const unsigned *in, const unsigned *lanes, unsigned *out,
                                        unsigned long long *wide) {
    unsigned t = threadIdx.x, n = blockDim.x, value = in[t];
    out[t] = __shfl_up_sync(~0u, value, 3);
    out[n + t] = __shfl_down_sync(~0u, value, 5);
    out[2 * n + t] = __shfl_xor_sync(~0u, value, 21);
    out[3 * n + t] = __shfl_sync(~0u, value, lanes[t]);
    out[4 * n + t] = __shfl_up_sync(~0u, value, 2, 8);
    out[5 * n + t] = __shfl_down_sync(~0u, value, 3, 16);
    out[6 * n + t] = __shfl_xor_sync(~0u, value, 6, 4);
    out[7 * n + t] = __shfl_sync(~0u, value, lanes[t], 8);
    unsigned sum = value;
    for (int offset = 1; offset < 32; offset *= 2) {
        unsigned other = __shfl_up_sync(~0u, sum, offset);
        if (t % 32 >= offset) sum += other;
    }
    out[8 * n + t] = sum;
    if (t % 2 == 0)
        out[9 * n + t] = __shfl_xor_sync(0x55555555, value, 4);
    else
        out[9 * n + t] = __shfl_sync(0xaaaaaaaa, value, 31);
    unsigned long long pair = (unsigned long long)value << 32 | in[n - 1 - t];
    wide[t] = __shfl_xor_sync(~0u, pair, 1) + __shfl_down_sync(~0u, pair, 16);
}
