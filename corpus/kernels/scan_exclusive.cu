// Exclusive prefix sums of 64-bit values (Blelloch): up-sweep, then down-sweep, in place in shared memory.
extern "C" __global__ void scan_exclusive(const unsigned long long *in, unsigned long long *out,
                                          unsigned long long *totals) {
    __shared__ unsigned long long tree[256];
    unsigned t = threadIdx.x, base = blockIdx.x * 256;
    tree[2 * t] = in[base + 2 * t];
    tree[2 * t + 1] = in[base + 2 * t + 1];
    unsigned offset = 1;
    for (unsigned active = 128; active > 0; active /= 2) {
        __syncthreads();
        if (t < active) tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) {
        totals[blockIdx.x] = tree[255];
        tree[255] = 0;
    }
    for (unsigned active = 1; active < 256; active *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < active) {
            unsigned left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
            unsigned long long value = tree[left];
            tree[left] = tree[right];
            tree[right] += value;
        }
    }
    __syncthreads();
    out[base + 2 * t] = tree[2 * t];
    out[base + 2 * t + 1] = tree[2 * t + 1];
}
