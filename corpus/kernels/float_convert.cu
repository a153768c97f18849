// Conversions between f32, f64 and integers of 8 to 64 bits: every rounding, and saturation where the
// value does not fit.
#define FOUR(o, op, x) (o)[0] = op##_rn(x), (o)[1] = op##_rz(x), (o)[2] = op##_ru(x), (o)[3] = op##_rd(x)

extern "C" __global__ void float_convert(const float *in, const long long *integers, int *words, long long *longs,
                                         float *floats, double *doubles) {
    unsigned i = threadIdx.x;
    float x = in[i];
    double y = (double)x * 1.25;
    long long n = integers[i];
    int *w = words + 18 * i;
    FOUR(w, __float2int, x);
    FOUR(w + 4, __float2uint, x);
    FOUR(w + 8, __double2int, y);
    FOUR(w + 12, __double2uint, y);
    float small = fminf(fmaxf(x, -100.0f), 100.0f);
    w[16] = (signed char)(int)small + (short)(int)(small * 300.0f);
    w[17] = (unsigned char)fabsf(small) * 3 + (unsigned short)fabsf(small * 600.0f);
    long long *l = longs + 16 * i;
    FOUR(l, __float2ll, x);
    FOUR(l + 4, __float2ull, x);
    FOUR(l + 8, __double2ll, y);
    FOUR(l + 12, __double2ull, y);
    float *f = floats + 18 * i;
    FOUR(f, __int2float, (int)n);
    FOUR(f + 4, __uint2float, (unsigned)n);
    FOUR(f + 8, __ll2float, n);
    FOUR(f + 12, __double2float, (double)n / 7);
    f[16] = (float)(signed char)n + (float)(unsigned short)n;
    f[17] = __int_as_float((int)n & 0x7f7fffff);
    double *d = doubles + 6 * i;
    FOUR(d, __ll2double, n);
    d[4] = (double)(int)n - (double)(unsigned)n;
    d[5] = (double)(unsigned long long)n;
}
