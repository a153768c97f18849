// Prefix sums over the whole grid in one launch: each block scans its part and looks back at its
// predecessors, which publish first their own sum, then their inclusive prefix. Tickets order the blocks.
__device__ unsigned next_ticket = 0;

extern "C" __global__ void scan_lookback(const unsigned *in, unsigned *out, unsigned long long *states) {
    __shared__ unsigned line[128], ticket, before;
    unsigned t = threadIdx.x;
    if (t == 0) ticket = atomicAdd(&next_ticket, 1);
    __syncthreads();
    unsigned part = ticket, value = in[part * 128 + t];
    line[t] = value;
    for (unsigned offset = 1; offset < 128; offset *= 2) {
        __syncthreads();
        unsigned other = t >= offset ? line[t - offset] : 0;
        __syncthreads();
        line[t] += other;
    }
    __syncthreads();
    // A state holds a flag (1: sum of the block, 2: prefix up to its end) above a 32-bit value.
    if (t == 0) {
        unsigned long long sum = line[127], flag = part == 0 ? 2 : 1;
        atomicExch(&states[part], flag << 32 | sum);
        unsigned prefix = 0;
        for (int back = (int)part - 1; back >= 0;) {
            unsigned long long state = atomicAdd(&states[back], 0ull);
            if (state >> 32 == 0) continue;
            prefix += (unsigned)state;
            if (state >> 32 == 2) break;
            back--;
        }
        atomicExch(&states[part], 2ull << 32 | (prefix + (unsigned)sum));
        before = prefix;
    }
    __syncthreads();
    out[part * 128 + t] = before + line[t];
}
