// The softmax of each row of a matrix, as kernels written for tiles do it: a block a row, columns beyond the last masked,
// the row kept in registers, extremes and sums by shuffles and then through shared memory, exponents to the base 2.
#include <cuda_fp16.h>

static __device__ float exponential(float x) {
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

template <class F> static __device__ float reduced(float value, float *room, F both) {
    for (int distance = 16; distance > 0; distance /= 2)
        value = both(value, __shfl_xor_sync(0xffffffff, value, distance));
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = value;
    __syncthreads();
    value = both(both(room[0], room[1]), both(room[2], room[3]));
    __syncthreads();
    return value;
}

extern "C" __global__ void softmax(const __half *x, float *y, unsigned columns, unsigned stride) {
    __shared__ float room[4];
    float values[2];
    for (int i = 0; i < 2; i++) {
        unsigned column = threadIdx.x + 128 * i;
        values[i] = column < columns ? __half2float(x[blockIdx.x * stride + column]) : -INFINITY;
    }
    float most = reduced(fmaxf(values[0], values[1]), room, [](float a, float b) { return fmaxf(a, b); });
    for (int i = 0; i < 2; i++) values[i] = exponential((values[i] - most) * 1.44269504f);
    float sum = reduced(values[0] + values[1], room, [](float a, float b) { return a + b; });
    for (int i = 0; i < 2; i++) {
        unsigned column = threadIdx.x + 128 * i;
        if (column < columns) y[blockIdx.x * stride + column] = __fdividef(values[i], sum);
    }
}
