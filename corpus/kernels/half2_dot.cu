// Packed half precision: dot products of rows in half2 with fused multiply-adds, packed comparisons,
// swaps and conversions, and a sum of packed products by warp shuffles.
#include <cuda_fp16.h>

extern "C" __global__ void half2_dot(const __half2 *a, const __half2 *b, __half2 *out, float *dots, unsigned *masks) {
    unsigned t = threadIdx.x, lane = t % 32;
    __half2 x = a[t], y = b[t], sum = __float2half2_rn(0.0f);
    for (int k = 0; k < 8; k++) {
        __half2 p = __shfl_xor_sync(~0u, x, k);
        sum = __hfma2(p, y, sum);
    }
    out[8 * t] = sum;
    out[8 * t + 1] = __hadd2(x, __lowhigh2highlow(y));
    out[8 * t + 2] = __hmul2(x, __high2half2(y));
    out[8 * t + 3] = __hsub2(__hneg2(x), __habs2(y));
    out[8 * t + 4] = __hmin2(x, y);
    out[8 * t + 5] = __hmax2(x, __halves2half2(__high2half(y), __low2half(x)));
    out[8 * t + 6] = __hge2(x, y);
    float2 wide = __half22float2(x);
    out[8 * t + 7] = __floats2half2_rn(wide.y * 3.0f, wide.x + 0.3f);
    float dot = fmaf(wide.x, __low2float(y), __fmul_rn(wide.y, __high2float(y)));
    for (int offset = 16; offset > 0; offset /= 2) dot = __fadd_rn(dot, __shfl_down_sync(~0u, dot, offset));
    if (lane == 0) dots[t / 32] = dot;
    masks[t] = __hgt2_mask(x, y) ^ (__hbeq2(x, y) ? 1u : 0u);
}
