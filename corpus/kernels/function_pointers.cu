// Indirect calls: a table of functions in global memory chosen by data, and a callback passed on.
typedef int (*Operation)(int, int);

__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int subtract(int a, int b) { return a - b; }
__device__ __noinline__ int multiply(int a, int b) { return a * b; }
__device__ __noinline__ int shift_mix(int a, int b) { return (a ^ b) + (int)((unsigned)a >> 3); }

__device__ Operation operations[4] = {add, subtract, multiply, shift_mix};

__device__ __noinline__ int fold(const int *values, int count, Operation operation) {
    int result = values[0];
    for (int i = 1; i < count; i++) result = operation(result, values[i]);
    return result;
}

extern "C" __global__ void function_pointers(const int *values, const unsigned char *codes, int *out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int direct = values[t];
    for (int i = 0; i < 4; i++) direct = operations[codes[4 * t + i] & 3](direct, values[(t + i) % 64]);
    out[2 * t] = direct;
    out[2 * t + 1] = fold(values + t % 32, 5, operations[codes[4 * t] >> 2 & 3]);
}
