// Minimum, maximum and 64-bit sum of a block: shuffles inside warps, shared memory across them.
__device__ __forceinline__ long long warp_sum(long long value) {
    for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_down_sync(~0u, value, offset);
    return value;
}

extern "C" __global__ void reduce_warp(const int *in, int *lowest, int *highest, long long *sum) {
    __shared__ int low[8], high[8];
    __shared__ long long total[8];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int value = in[blockIdx.x * 256 + threadIdx.x];
    int least = value, most = value;
    for (int offset = 16; offset > 0; offset >>= 1) {
        least = min(least, __shfl_xor_sync(~0u, least, offset));
        most = max(most, __shfl_xor_sync(~0u, most, offset));
    }
    long long part = warp_sum(value);
    if (lane == 0) {
        low[warp] = least;
        high[warp] = most;
        total[warp] = part;
    }
    __syncthreads();
    if (warp == 0) {
        least = low[lane % 8];
        most = high[lane % 8];
        part = lane < 8 ? total[lane] : 0;
        for (int offset = 4; offset > 0; offset >>= 1) {
            least = min(least, __shfl_xor_sync(~0u, least, offset));
            most = max(most, __shfl_xor_sync(~0u, most, offset));
        }
        part = warp_sum(part);
        if (lane == 0) {
            lowest[blockIdx.x] = least;
            highest[blockIdx.x] = most;
            sum[blockIdx.x] = part;
        }
    }
}
