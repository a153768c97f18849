// A pipeline of asynchronous copies from global to shared memory: 16-, 8- and 4-byte pieces, two stages in
// flight, a zero-filled tail, while the stage before is summed.
#include <cuda_pipeline.h>

extern "C" __global__ void async_copy(const unsigned *in, unsigned *out, unsigned chunks) {
    __shared__ __align__(16) unsigned stage[2][7 * 64];
    unsigned t = threadIdx.x, sum = 0;
    const unsigned *from = in + blockIdx.x * chunks * 448;
    auto fetch = [&](unsigned chunk) {
        unsigned *to = stage[chunk % 2];
        const unsigned *piece = from + chunk * 448;
        __pipeline_memcpy_async(to + 4 * t, piece + 4 * t, 16);
        __pipeline_memcpy_async(to + 256 + 2 * t, piece + 256 + 2 * t, 8);
        __pipeline_memcpy_async(to + 384 + t, piece + 384 + t, 4, t % 5 == 0 ? 4 : 0);
    };
    fetch(0);
    __pipeline_commit();
    for (unsigned chunk = 0; chunk < chunks; chunk++) {
        if (chunk + 1 < chunks) fetch(chunk + 1);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        for (unsigned i = 0; i < 7; i++) sum = sum * 5 + stage[chunk % 2][(t * 7 + i * 13) % 448];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + t] = sum;
}
