// f32 and f64 arithmetic in all four directed roundings, on ordinary, huge, tiny and subnormal values.
#define FOUR(o, op, args) \
    (o)[0] = op##_rn args, (o)[1] = op##_rz args, (o)[2] = op##_ru args, (o)[3] = op##_rd args

extern "C" __global__ void float_rounding(const float *a, const float *b, float *out, double *wide) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y = b[i], *o = out + 28 * i;
    FOUR(o, __fadd, (x, y));
    FOUR(o + 4, __fsub, (x, y));
    FOUR(o + 8, __fmul, (x, y));
    FOUR(o + 12, __fmaf, (x, y, x));
    FOUR(o + 16, __fdiv, (x, y));
    FOUR(o + 20, __frcp, (y));
    FOUR(o + 24, __fsqrt, (fabsf(x)));
    double u = (double)x * 1.000000000000001, v = (double)y / 3, *w = wide + 24 * i;
    FOUR(w, __dadd, (u, v));
    FOUR(w + 4, __dmul, (u, v));
    FOUR(w + 8, __fma, (u, v, u));
    FOUR(w + 12, __ddiv, (u, v));
    FOUR(w + 16, __drcp, (v));
    FOUR(w + 20, __dsqrt, (fabs(u)));
}
