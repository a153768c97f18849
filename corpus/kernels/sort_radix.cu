// Radix sort of 256 (key, value) pairs by the low 8 bits of the key, one bit a pass; the position of a
// pair comes from ballots inside warps and a scan of their counts.
extern "C" __global__ void sort_radix(unsigned *keys, unsigned *values) {
    __shared__ unsigned key[256], value[256], zeros[8];
    unsigned t = threadIdx.x, warp = t / 32, lane = t % 32;
    unsigned k = keys[t], v = values[t];
    for (unsigned bit = 0; bit < 8; bit++) {
        bool one = k >> bit & 1;
        unsigned ones = __ballot_sync(~0u, one);
        unsigned ones_below = __popc(ones & ((1u << lane) - 1));
        if (lane == 0) zeros[warp] = 32 - __popc(ones);
        __syncthreads();
        unsigned before = 0, all = 0;
        for (unsigned w = 0; w < 8; w++) {
            if (w < warp) before += zeros[w];
            all += zeros[w];
        }
        unsigned place = one ? all + (warp * 32 - before) + ones_below : before + lane - ones_below;
        key[place] = k;
        value[place] = v;
        __syncthreads();
        k = key[t];
        v = value[t];
    }
    keys[t] = k;
    values[t] = v;
}
