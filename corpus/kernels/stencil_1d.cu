// out[i] = sum of in[i - 3 .. i + 3] with a halo in shared memory; outside the array counts as zero.
#define RADIUS 3

extern "C" __global__ void stencil_1d(const int *in, int *out, int n) {
    __shared__ int line[128 + 2 * RADIUS];
    int i = blockIdx.x * 128 + threadIdx.x, t = threadIdx.x + RADIUS;
    line[t] = i < n ? in[i] : 0;
    if (threadIdx.x < RADIUS) {
        line[t - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0;
        line[t + 128] = i + 128 < n ? in[i + 128] : 0;
    }
    __syncthreads();
    if (i >= n) return;
    int sum = 0;
#pragma unroll
    for (int offset = -RADIUS; offset <= RADIUS; offset++) sum += line[t + offset];
    out[i] = sum;
}
