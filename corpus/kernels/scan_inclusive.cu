// Inclusive prefix sums of each block (Hillis and Steele), two buffers in dynamic shared memory.
extern "C" __global__ void scan_inclusive(const int *in, int *out, unsigned n) {
    extern __shared__ int line[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int *from = line, *to = line + blockDim.x;
    from[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned offset = 1; offset < blockDim.x; offset *= 2) {
        to[t] = t >= offset ? from[t] + from[t - offset] : from[t];
        int *other = from;
        from = to;
        to = other;
        __syncthreads();
    }
    if (i < n) out[i] = from[t];
}
