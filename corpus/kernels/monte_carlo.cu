// Hits in a quarter circle by two generators a thread, PCG32 and a 32-bit LFSR, with a jump ahead of the
// PCG by thread; block sums by warp reduction, one atomic a warp.
typedef unsigned long long u64;
#define STEP 6364136223846793005ull
#define ODD 1442695040888963407ull

__device__ u64 jump(u64 state, u64 distance) {
    u64 factor = 1, offset = 0, step = STEP, add = ODD;
    for (; distance; distance >>= 1) {
        if (distance & 1) {
            factor *= step;
            offset = offset * step + add;
        }
        add *= step + 1;
        step *= step;
    }
    return state * factor + offset;
}

__device__ __forceinline__ unsigned pcg(u64 &state) {
    unsigned mixed = (unsigned)((state >> 18 ^ state) >> 27), turn = (unsigned)(state >> 59);
    state = state * STEP + ODD;
    return __funnelshift_r(mixed, mixed, turn);
}

extern "C" __global__ void monte_carlo(u64 seed, int rounds, unsigned *hits, unsigned *states) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 state = jump(seed, (u64)i * rounds * 2);
    unsigned lfsr = 0x1234567u * (i + 1), inside = 0, taps = 0;
    for (int round = 0; round < rounds; round++) {
        u64 x = pcg(state) >> 1, y = pcg(state) >> 1;
        inside += x * x + y * y < 1ull << 62;
        lfsr = lfsr >> 1 ^ (-(lfsr & 1) & 0xd0000001u);
        taps += lfsr >> 31;
    }
    states[i] = lfsr ^ (unsigned)(state >> 32);
    inside = __reduce_add_sync(~0u, inside);
    taps = __reduce_add_sync(~0u, taps);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&hits[0], inside);
        atomicAdd(&hits[1], taps);
    }
}
