// Rounds with a leader each: it publishes its value in shared memory, and all threads of the block mix that in, until a
// leader's value ends the rounds. The shared words are named in the loop alone.
extern "C" __global__ void leader_rounds(const unsigned *values, unsigned *out, unsigned mask) {
    __shared__ unsigned published[2];
    const unsigned t = threadIdx.x;
    unsigned own = values[blockIdx.x * blockDim.x + t], round = 0, last;
#pragma unroll 1
    do {
        if (t == (round & (blockDim.x - 1))) {
            published[0] = own;
            published[1] = own >> 3;
        }
        __syncthreads();
        last = published[0];
        own = own * 5 + (last ^ published[1]);
        round++;
        __syncthreads();
    } while ((last & mask) != 0);
    out[blockIdx.x * blockDim.x + t] = own + round;
}
