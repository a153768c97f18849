// Votes under full and partial masks, stream compaction by ballots, and block-wide votes at barriers.
extern "C" __global__ void warp_vote(const int *in, unsigned *votes, int *kept, unsigned *count) {
    __shared__ unsigned base[4];
    unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
    int value = in[t];
    unsigned *mine = votes + 8 * t;
    mine[0] = __any_sync(~0u, value > 900);
    mine[1] = __all_sync(~0u, value > -1000);
    mine[2] = __ballot_sync(~0u, value & 1);
    mine[3] = __activemask();
    if (lane < 20) {
        mine[4] = __ballot_sync(0xfffff, value < 0);
        mine[5] = __any_sync(0xfffff, value % 64 == 7) + 2 * __all_sync(0xfffff, value > -900);
    } else {
        mine[4] = __ballot_sync(0xfff00000, value > 0);
        mine[5] = ~0u;
    }
    mine[6] = __syncthreads_count(value % 3 == 0);
    mine[7] = __syncthreads_or(value == 5) << 1 | __syncthreads_and(value < 1000);
    unsigned keep = __ballot_sync(~0u, value >= 0);
    if (lane == 0) base[warp] = __popc(keep);
    __syncthreads();
    unsigned place = __popc(keep & ((1u << lane) - 1));
    for (unsigned w = 0; w < warp; w++) place += base[w];
    if (value >= 0) kept[place] = value;
    if (t == 0) *count = base[0] + base[1] + base[2] + base[3];
}
