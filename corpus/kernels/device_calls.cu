// Real calls: scalars of every width, structures by value in and out, pointers to locals, two results
// through references, and a call inside divergent code.
struct Fraction {
    long long above;
    int below;
    short tag;
    unsigned char sign;
};

__device__ __noinline__ int gcd(int a, int b) {
    while (b) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

__device__ __noinline__ Fraction reduce(Fraction f) {
    int divisor = gcd((int)(f.above % f.below), f.below);
    f.above /= divisor;
    f.below /= divisor;
    f.tag = (short)(f.tag + divisor);
    f.sign ^= 1;
    return f;
}

__device__ __noinline__ Fraction multiply(Fraction a, Fraction b) {
    Fraction product = {a.above * b.above, a.below * b.below, (short)(a.tag ^ b.tag), (unsigned char)(a.sign + b.sign)};
    return reduce(product);
}

__device__ __noinline__ void split(unsigned value, unsigned char &low, unsigned short *high, const float *scale) {
    low = value & 255;
    *high = (unsigned short)(unsigned)((value >> 8) * *scale);
}

__device__ __noinline__ double blend(signed char a, unsigned short b, float c, double d, bool add) {
    return add ? a * 2.0 + b : c * 4.0 - d;
}

extern "C" __global__ void device_calls(const unsigned *in, long long *fractions, double *blends) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t];
    Fraction a = {(v & 0xffff) + 1, (int)(v >> 24) + 1, (short)v, 3};
    Fraction b = {(v >> 16) + 1, (int)(v & 0xff) + 1, 17, (unsigned char)(v >> 5)};
    Fraction product = multiply(a, b);
    if (v & 1)
        product = multiply(product, a);
    else if (v & 2)
        product = reduce(product);
    unsigned char low;
    unsigned short high;
    float scale = 0.125f;
    split(v, low, &high, &scale);
    fractions[4 * t] = product.above;
    fractions[4 * t + 1] = product.below;
    fractions[4 * t + 2] = product.tag;
    fractions[4 * t + 3] = product.sign + 256 * low + 65536ll * high;
    blends[t] = blend((signed char)low, high, scale * low, (double)v, v & 4);
}
