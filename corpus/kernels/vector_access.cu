// Vector loads and stores of many shapes: float4, int2, uchar4, short4, double2, ulonglong2, in global
// and shared memory, through read-only and streaming paths.
extern "C" __global__ void vector_access(const float4 *f, const int2 *i, const uchar4 *c, const short4 *s,
                                         const double2 *d, const ulonglong2 *l, float4 *fo, int2 *io, uchar4 *co,
                                         short4 *so, double2 *dout, ulonglong2 *lo) {
    __shared__ float4 row[64];
    __shared__ ushort2 pairs[64];
    unsigned t = threadIdx.x, n = blockDim.x;
    float4 a = __ldg(&f[t]);
    row[n - 1 - t] = make_float4(a.w, a.x, a.y, a.z);
    int2 p = __ldcs(&i[t]);
    pairs[t] = make_ushort2((unsigned short)p.x, (unsigned short)(p.y >> 16));
    __syncthreads();
    float4 b = row[t];
    fo[t] = make_float4(__fadd_rn(a.x, b.x), __fmul_rn(a.y, b.y), __fsub_rn(a.z, b.z), fmaxf(a.w, b.w));
    ushort2 q = pairs[(t + 5) % n];
    io[t] = make_int2(p.y - q.x, p.x ^ q.y);
    uchar4 u = c[t];
    co[t] = make_uchar4((unsigned char)(u.x + u.y), u.z > u.w ? u.z : u.w, u.y >> 2, ~u.x);
    short4 v = s[t];
    __stcs(&so[t], make_short4(v.w, (short)(v.x * v.y), (short)(v.z - 1), (short)(v.x >> 3)));
    double2 w = d[t];
    dout[t] = make_double2(__dadd_rn(w.x, w.y), w.x < w.y ? w.y : -w.x);
    ulonglong2 x = l[t];
    lo[t] = make_ulonglong2(x.x + x.y, x.x < x.y ? x.x * 3 : ~x.y);
}
