// A kernel parameter that is a structure by value: PTX declares it as an array of eight bytes, and the
// launch gives it as one 64-bit value.
struct Window {
    int start;
    short step;
    signed char shift;
    unsigned char count;
};

extern "C" __global__ void struct_param(Window window, const short *in, int *out, float scale) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int k = 0; k < window.count; k++) sum += in[(window.start + t + k * window.step) & 255];
    out[t] = (int)__fmul_rn((float)sum, scale) + (window.shift << 8);
}
