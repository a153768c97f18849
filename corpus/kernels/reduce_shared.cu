// Sum of a block's slice by a tree in shared memory; one partial result a block.
extern "C" __global__ void reduce_shared(const unsigned *in, unsigned *partial, unsigned n) {
    __shared__ unsigned tree[256];
    unsigned i = blockIdx.x * 512 + threadIdx.x;
    unsigned sum = 0;
    if (i < n) sum += in[i];
    if (i + 256 < n) sum += in[i + 256];
    tree[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned stride = 128; stride > 0; stride >>= 1) {
        if (threadIdx.x < stride) tree[threadIdx.x] += tree[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = tree[0];
}
