// Bitonic sort of 512 signed keys a block in shared memory, 256 threads.
extern "C" __global__ void sort_bitonic(int *keys) {
    __shared__ int key[512];
    unsigned t = threadIdx.x;
    int *slice = keys + blockIdx.x * 512;
    key[t] = slice[t];
    key[t + 256] = slice[t + 256];
    for (unsigned size = 2; size <= 512; size *= 2) {
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            unsigned low = 2 * t - (t & (stride - 1)), high = low + stride;
            bool ascending = (low & size) == 0;
            int a = key[low], b = key[high];
            if ((a > b) == ascending) {
                key[low] = b;
                key[high] = a;
            }
        }
    }
    __syncthreads();
    slice[t] = key[t];
    slice[t + 256] = key[t + 256];
}
