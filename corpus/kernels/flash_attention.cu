// Attention without the matrix of all scores: a warp has 16 queries and goes over the keys in tiles of 16. Scores and
// their products with the values are made by mma; the largest score and the sum of a row so far are mended tile by tile.
#include <cuda_fp16.h>

static __device__ float exponential(float x) {
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

static __device__ void product(float (&sums)[4], const unsigned (&a)[4], unsigned low, unsigned high) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(low), "r"(high));
}

static __device__ unsigned packed(float low, float high) {
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

// Rows of 16 elements: queries, keys, values, results. Each group of four lanes has the rows lane / 4 and lane / 4 + 8.
extern "C" __global__ void flash_attention(const unsigned *q, const unsigned *k, const unsigned short *v, float *out,
                                           unsigned keys, float scale) {
    const unsigned lane = threadIdx.x % 32, group = lane / 4, own = lane % 4;
    const unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 16 + group;
    unsigned query[4];
    for (int i = 0; i < 4; i++) query[i] = q[(row + i % 2 * 8) * 8 + own + i / 2 * 4];
    float result[2][4] = {}, most[2] = {-INFINITY, -INFINITY}, sum[2] = {};
    for (unsigned first = 0; first < keys; first += 16) {
        float scores[2][4] = {};
        for (int half = 0; half < 2; half++) {
            const unsigned *key = k + (first + half * 8 + group) * 8 + own;
            product(scores[half], query, key[0], key[4]);
        }
        for (int upper = 0; upper < 2; upper++) {
            float *left = scores[0] + 2 * upper, *right = scores[1] + 2 * upper;
            float larger = fmaxf(fmaxf(left[0], left[1]), fmaxf(right[0], right[1])) * scale;
            larger = fmaxf(larger, __shfl_xor_sync(0xffffffff, larger, 1));
            larger = fmaxf(larger, __shfl_xor_sync(0xffffffff, larger, 2));
            larger = fmaxf(larger, most[upper]);
            float mended = exponential(most[upper] - larger);
            most[upper] = larger;
            for (int i = 0; i < 2; i++) {
                left[i] = exponential(left[i] * scale - larger);
                right[i] = exponential(right[i] * scale - larger);
                result[i][2 * upper] *= mended;
                result[i][2 * upper + 1] *= mended;
            }
            sum[upper] = sum[upper] * mended + left[0] + left[1] + right[0] + right[1];
        }
        const unsigned weights[4] = {packed(scores[0][0], scores[0][1]), packed(scores[0][2], scores[0][3]),
                                     packed(scores[1][0], scores[1][1]), packed(scores[1][2], scores[1][3])};
        for (int half = 0; half < 2; half++) {
            const unsigned short *value = v + (first + 2 * own) * 16 + half * 8 + group;
            product(result[half], weights, value[0] | (unsigned)value[16] << 16,
                    value[128] | (unsigned)value[144] << 16);
        }
    }
    for (int upper = 0; upper < 2; upper++) {
        float all = sum[upper];
        all += __shfl_xor_sync(0xffffffff, all, 1);
        all += __shfl_xor_sync(0xffffffff, all, 2);
        for (int half = 0; half < 2; half++)
            for (int i = 0; i < 2; i++)
                out[(row + 8 * upper) * 16 + half * 8 + 2 * own + i] = result[half][2 * upper + i] / all;
    }
}
