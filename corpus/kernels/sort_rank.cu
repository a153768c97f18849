// Rank sort: each thread counts the keys that come before its own; equal keys keep their order.
extern "C" __global__ void sort_rank(const short *keys, short *sorted, unsigned short *origin, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    short key = keys[i];
    int rank = 0;
    for (int j = 0; j < n; j++) {
        short other = keys[j];
        if (other < key || (other == key && j < i)) rank++;
    }
    sorted[rank] = key;
    origin[rank] = (unsigned short)i;
}
