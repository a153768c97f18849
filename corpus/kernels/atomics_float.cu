// Floating-point atomics: sums of small integers, exact in any order, in f32 and f64; a maximum and a
// saturating product by compare-and-swap loops; a spin lock around a plain update.
__device__ void atomic_maximum(float *cell, float value) {
    int *bits = (int *)cell, seen = *(volatile int *)bits, assumed;
    do {
        assumed = seen;
        if (__int_as_float(assumed) >= value) return;
        seen = atomicCAS(bits, assumed, __float_as_int(value));
    } while (seen != assumed);
}

extern "C" __global__ void atomics_float(const float *in, float *sums, double *wide, unsigned *locked) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    atomicAdd(&sums[i % 3], v);
    atomicAdd(&wide[i % 2], (double)v * 0.25);
    atomic_maximum(&sums[3], v);
    unsigned seen = *(volatile unsigned *)&locked[1], assumed;
    do {
        assumed = seen;
        unsigned next = assumed > 1000000 ? assumed : assumed * 3;
        seen = atomicCAS(&locked[1], assumed, next);
    } while (seen != assumed);
    if (threadIdx.x == 0) {
        while (atomicCAS(&locked[2], 0u, 1u) != 0) {}
        __threadfence();
        volatile unsigned *guarded = &locked[3];
        *guarded = *guarded + blockIdx.x + 1;
        __threadfence();
        atomicExch(&locked[2], 0u);
    }
    if (v > 40) atomicAdd(&locked[0], 1);
}
