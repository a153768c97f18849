// A grid-wide sum in one launch: the last block to finish adds the partial sums of all blocks.
__device__ unsigned finished = 0;

extern "C" __global__ void reduce_last_block(const unsigned *in, volatile unsigned *partial, unsigned *sum) {
    __shared__ unsigned tree[128];
    __shared__ bool last;
    unsigned t = threadIdx.x;
    tree[t] = in[blockIdx.x * 128 + t];
    __syncthreads();
    for (unsigned stride = 64; stride > 0; stride /= 2) {
        if (t < stride) tree[t] += tree[t + stride];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = tree[0];
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && t == 0) {
        unsigned total = 0;
        for (unsigned block = 0; block < gridDim.x; block++) total += partial[block];
        *sum = total;
    }
}
