// match_any and match_all on 32- and 64-bit values, and a histogram whose atomics are merged by match.
extern "C" __global__ void warp_match(const unsigned *in, unsigned *out, unsigned *bins) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x, lane = threadIdx.x % 32;
    unsigned value = in[i];
    unsigned peers = __match_any_sync(~0u, value);
    out[i] = peers;
    out[n + i] = __match_any_sync(~0u, (unsigned long long)value << 40 | (lane & 1));
    int same;
    unsigned mask = __match_all_sync(~0u, value < 100, &same);
    out[2 * n + i] = mask + same;
    mask = __match_all_sync(~0u, (long long)(value & 3), &same);
    out[3 * n + i] = mask ^ same;
    int leader = __ffs(peers) - 1;
    if (lane == leader) atomicAdd(&bins[value], __popc(peers));
}
