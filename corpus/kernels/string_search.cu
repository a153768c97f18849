// Counts and locates a pattern in a text with byte loads; letters compare without regard to case, and
// '?' matches anything. The pattern comes through shared memory.
__device__ __forceinline__ unsigned char fold(unsigned char c) { return c >= 'A' && c <= 'Z' ? c | 32 : c; }

extern "C" __global__ void string_search(const unsigned char *text, unsigned length, const unsigned char *pattern,
                                         unsigned pattern_length, unsigned char *found, unsigned *count,
                                         unsigned *first) {
    __shared__ unsigned char folded[32];
    __shared__ unsigned hits;
    if (threadIdx.x == 0) hits = 0;
    if (threadIdx.x < pattern_length) folded[threadIdx.x] = fold(pattern[threadIdx.x]);
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    bool match = i + pattern_length <= length;
    for (unsigned k = 0; match && k < pattern_length; k++)
        match = folded[k] == '?' || fold(text[i + k]) == folded[k];
    if (i < length) found[i] = match;
    if (match) {
        atomicAdd(&hits, 1);
        atomicMin(first, i);
    }
    __syncthreads();
    if (threadIdx.x == 0 && hits) atomicAdd(count, hits);
}
