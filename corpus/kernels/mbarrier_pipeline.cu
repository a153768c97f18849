// A pipeline of two stages in shared memory: the first warp fills them, the other three work on what they hold.
// Barriers in memory say when a stage is full, and when it is empty again.

static __device__ unsigned place(const void *shared) { return (unsigned)__cvta_generic_to_shared(shared); }

static __device__ void init(unsigned long long *barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(place(barrier)), "r"(arrivals) : "memory");
}

static __device__ void arrive(unsigned long long *barrier) {
    asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" ::"r"(place(barrier)) : "memory");
}

static __device__ void wait(unsigned long long *barrier, unsigned parity) {
    unsigned over;
    do
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(over)
                     : "r"(place(barrier)), "r"(parity)
                     : "memory");
    while (!over);
}

// Each of 96 threads hashes one element of each of the block's tiles, in another place each time.
extern "C" __global__ void mbarrier_pipeline(const unsigned *in, unsigned *out, unsigned tiles) {
    __shared__ unsigned stage[2][96];
    __shared__ unsigned long long full[2], empty[2];
    const unsigned t = threadIdx.x;
    if (t == 0)
        for (unsigned s = 0; s < 2; s++) {
            init(&full[s], 32);
            init(&empty[s], 96);
        }
    __syncthreads();
    if (t < 32) {
        for (unsigned tile = 0; tile < tiles; tile++) {
            const unsigned s = tile % 2;
            wait(&empty[s], tile / 2 % 2 ^ 1);
            for (unsigned i = t; i < 96; i += 32) stage[s][i] = in[(blockIdx.x * tiles + tile) * 96 + i];
            arrive(&full[s]);
        }
    } else {
        unsigned hash = t;
        for (unsigned tile = 0; tile < tiles; tile++) {
            const unsigned s = tile % 2;
            wait(&full[s], tile / 2 % 2);
            hash = hash * 31 + stage[s][(t * 7 + tile) % 96];
            arrive(&empty[s]);
        }
        out[blockIdx.x * 96 + t - 32] = hash;
    }
}
