// bfloat16, scalar and packed: arithmetic with one rounding each, comparisons, conversions, relu.
#include <cuda_bf16.h>

extern "C" __global__ void bfloat16_arith(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *out,
                                          float *wide, unsigned *flags) {
    unsigned t = threadIdx.x;
    __nv_bfloat162 x = a[t], y = b[t], *o = out + 10 * t;
    o[0] = __hadd2(x, y);
    o[1] = __hsub2(x, y);
    o[2] = __hmul2(x, y);
    o[3] = __hfma2(x, y, x);
    o[4] = __hfma2_relu(y, x, x);
    o[5] = __hmin2(x, y);
    o[6] = __hmax2(__hneg2(x), __habs2(y));
    __nv_bfloat16 low = __low2bfloat16(x), high = __high2bfloat16(y);
    o[7] = __halves2bfloat162(__hadd(low, high), __hfma(low, high, low));
    float f = __bfloat162float(low) * 1.0039f;
    o[8] = __halves2bfloat162(__float2bfloat16_rz(f), __float2bfloat16_ru(f));
    o[9] = __halves2bfloat162(__float2bfloat16_rd(f), __float2bfloat16_rn(f));
    wide[2 * t] = fmaf(__low2float(x), __high2float(y), 1.0f);
    wide[2 * t + 1] = f;
    flags[t] = __heq(low, high) | __hlt(low, high) << 1 | __hge(low, high) << 2 | __hbne2(x, y) << 3;
}
