// Histogram of bytes: shared-memory atomics in each block, global atomics to merge.
extern "C" __global__ void histogram(const unsigned char *data, unsigned *bins, unsigned n) {
    __shared__ unsigned local[256];
    for (unsigned bin = threadIdx.x; bin < 256; bin += blockDim.x) local[bin] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&local[data[i]], 1);
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < 256; bin += blockDim.x)
        if (local[bin]) atomicAdd(&bins[bin], local[bin]);
}
