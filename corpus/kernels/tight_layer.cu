// nvcc: -Xcicc -O1
// A dense layer of twelve outputs a thread, in 24 registers: sums, offsets and what the end needs do not fit together.
extern "C" __global__ void __maxnreg__(24)
tight_layer(const int *weights, const int *inputs, int *out, unsigned width, unsigned rows) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned low = t & 7, high = t >> 3, turn = (t * 5 + 3) & 15, fold = t ^ (t >> 2);
    int sums[12];
#pragma unroll
    for (int i = 0; i < 12; i++) sums[i] = int(t) * i;
    unsigned k = 0;
#pragma unroll 1
    for (;;) {
        const int x = inputs[k * rows + t];
#pragma unroll
        for (int i = 0; i < 12; i++) sums[i] += x * weights[k * 12 + i];
        if (++k >= width) break;
        if ((x & 15) != turn) continue;
        sums[0] ^= low;
        sums[11] += fold;
    }
    int last = high + fold * turn - low;
#pragma unroll
    for (int i = 0; i < 12; i++) {
        out[t * 12 + i] = sums[i] + last;
        last = last * 3 + int(turn);
    }
}
