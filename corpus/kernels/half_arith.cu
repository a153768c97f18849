// Scalar half precision: arithmetic with one rounding each, fused multiply-add with and without relu,
// comparisons, minimum and maximum, conversions in every rounding. Inputs hold subnormal and huge values.
#include <cuda_fp16.h>

extern "C" __global__ void half_arith(const __half *a, const __half *b, __half *out, unsigned *flags, short *integers) {
    unsigned t = threadIdx.x;
    __half x = a[t], y = b[t], *o = out + 16 * t;
    o[0] = __hadd(x, y);
    o[1] = __hsub(x, y);
    o[2] = __hmul(x, y);
    o[3] = __hfma(x, y, x);
    o[4] = __hfma_relu(x, y, y);
    o[5] = __hneg(x);
    o[6] = __habs(y);
    o[7] = __hmin(x, y);
    o[8] = __hmax(x, y);
    o[9] = __hadd_sat(x, y);
    float f = __half2float(x) * 1.0009765f;
    o[10] = __float2half_rn(f);
    o[11] = __float2half_rz(f);
    o[12] = __float2half_ru(f);
    o[13] = __float2half_rd(f);
    o[14] = __int2half_rn((int)t * 1300 - 60000);
    o[15] = __double2half((double)f * 3);
    flags[t] = __heq(x, y) | __hlt(x, y) << 1 | __hle(x, y) << 2 | __hgt(x, y) << 3 | __hne(x, y) << 4 |
               __hge(x, __float2half_rn(1.0f)) << 5;
    integers[4 * t] = __half2short_rn(x);
    integers[4 * t + 1] = __half2short_rz(x);
    integers[4 * t + 2] = __half2short_ru(x);
    integers[4 * t + 3] = __half2short_rd(x);
}
