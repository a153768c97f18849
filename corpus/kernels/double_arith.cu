// nvcc: -fmad=false
// f64 work: Horner, a Newton square root beside the exact one, exact division, Kahan summation,
// rounding functions, bit access, and sums kept exact by an error-free transformation.
__device__ double horner(double x) {
    const double c[7] = {1.0 / 5040, -1.0 / 720, 0.0083, -0.0416, 0.1666, -0.5, 1.0};
    double r = c[0];
#pragma unroll
    for (int i = 1; i < 7; i++) r = r * x + c[i];
    return r;
}

__device__ double newton_sqrt(double x) {
    double guess = __hiloint2double((__double2hiint(x) >> 1) + (511 << 20), 0);
    for (int i = 0; i < 6; i++) guess = 0.5 * (guess + x / guess);
    return guess;
}

extern "C" __global__ void double_arith(const double *in, double *out, int n) {
    int t = threadIdx.x;
    double x = in[t], y = in[(t + 1) % n];
    double *o = out + 12 * t;
    o[0] = horner(x);
    o[1] = newton_sqrt(fabs(x));
    o[2] = sqrt(fabs(x));
    o[3] = x / y;
    o[4] = 1.0 / y;
    o[5] = fma(x, y, -x);
    o[6] = floor(x) + ceil(y) * 2 + trunc(x * 0.1);
    o[7] = rint(x * 8) - fabs(y);
    o[8] = fmin(x, y) - fmax(x, -y);
    double sum = 0, lost = 0;
    for (int i = 0; i < n; i++) {
        double term = in[i] - lost, next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    o[9] = sum;
    double s = x + y, part = s - x;
    o[10] = (x - (s - part)) + (y - part);
    o[11] = __longlong_as_double(__double_as_longlong(copysign(x, y)) ^ 1);
}
