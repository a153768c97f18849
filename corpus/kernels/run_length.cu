// Run-length encoding of a row of bytes by one block: heads of runs are found by comparing neighbours,
// placed by ballots and a scan over warps, lengths taken as differences of the places.
extern "C" __global__ void run_length(const unsigned char *in, int length, unsigned char *symbols, int *lengths, int *runs) {
    __shared__ int heads[257], warp_counts[8], total;
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    bool head = t < length && (t == 0 || in[t] != in[t - 1]);
    unsigned votes = __ballot_sync(~0u, head);
    if (lane == 0) warp_counts[warp] = __popc(votes);
    __syncthreads();
    if (warp == 0) {
        int count = lane < 8 ? warp_counts[lane] : 0, sum = count;
        for (int offset = 1; offset < 8; offset *= 2) {
            int other = __shfl_up_sync(~0u, sum, offset);
            if (lane >= offset) sum += other;
        }
        if (lane < 8) warp_counts[lane] = sum - count;
        if (lane == 7) total = sum;
    }
    __syncthreads();
    int place = warp_counts[warp] + __popc(votes & ((1u << lane) - 1));
    if (head) heads[place] = t;
    if (t == 0) heads[total] = length;
    __syncthreads();
    if (head) {
        symbols[place] = in[t];
        lengths[place] = heads[place + 1] - t;
    }
    if (t == 0) *runs = total;
}
