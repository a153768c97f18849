// Recursive quicksort of a row a thread, in a local array; small ranges fall to insertion sort.
__device__ __noinline__ void quicksort(int *low, int *high) {
    while (high - low > 6) {
        int pivot = low[(high - low) / 2], *left = low, *right = high - 1;
        while (left <= right) {
            while (*left < pivot) left++;
            while (*right > pivot) right--;
            if (left <= right) {
                int keep = *left;
                *left++ = *right;
                *right-- = keep;
            }
        }
        quicksort(low, right + 1);
        low = left;
    }
    for (int *end = low + 1; end < high; end++) {
        int value = *end, *hole = end;
        for (; hole > low && hole[-1] > value; hole--) *hole = hole[-1];
        *hole = value;
    }
}

extern "C" __global__ void quicksort_rows(const int *in, int *out, int length) {
    int row[48];
    int base = (blockIdx.x * blockDim.x + threadIdx.x) * length;
    for (int i = 0; i < length; i++) row[i] = in[base + i];
    quicksort(row, row + length);
    for (int i = 0; i < length; i++) out[base + i] = row[i];
}
