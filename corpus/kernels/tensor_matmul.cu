// A product of matrices in f16 with sums in f32: tiles in shared memory, fragments by ldmatrix, products by mma.
#include <cstdint>

static __device__ unsigned place(const void *shared) { return (unsigned)__cvta_generic_to_shared(shared); }

// c = a * b, where a has n rows of k, and b has k rows of m elements. A block makes 32 rows of 32 columns.
extern "C" __global__ void tensor_matmul(const uint4 *a, const uint4 *b, float *c, unsigned k, unsigned m) {
    __shared__ __align__(16) unsigned short as[32][24], bs[16][40];
    const unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
    const unsigned row = blockIdx.y * 32, column = blockIdx.x * 32, up = warp / 2 * 16, left = warp % 2 * 16;
    float sums[2][4] = {};
    for (unsigned at = 0; at < k; at += 16) {
        if (t < 64)
            *(uint4 *)&as[t / 2][t % 2 * 8] = a[((row + t / 2) * k + at) / 8 + t % 2];
        else
            *(uint4 *)&bs[t / 4 - 16][t % 4 * 8] = b[((at + t / 4 - 16) * m + column) / 8 + t % 4];
        __syncthreads();
        unsigned x[4], y[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(place(&as[up + lane % 16][lane / 16 * 8]))
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                     : "r"(place(&bs[lane % 16][left + lane / 16 * 8]))
                     : "memory");
        for (int half = 0; half < 2; half++)
            asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                "{%0, %1, %2, %3};"
                : "+f"(sums[half][0]), "+f"(sums[half][1]), "+f"(sums[half][2]), "+f"(sums[half][3])
                : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2 * half]), "r"(y[2 * half + 1]));
        __syncthreads();
    }
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < 4; i++)
            c[(row + up + lane / 4 + i / 2 * 8) * m + column + left + half * 8 + lane % 4 * 2 + i % 2] = sums[half][i];
}
