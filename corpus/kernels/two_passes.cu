// Two statistics of a column a thread, each in a loop of its own over the same number of rows.
constexpr unsigned ROWS = 24;

extern "C" __global__ void two_passes(const unsigned *values, const unsigned *weights, unsigned *out) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, columns = gridDim.x * blockDim.x;
    unsigned sum = 0, mixed = t;
#pragma unroll 1
    for (unsigned r = 0; r < ROWS; r++) sum += values[r * columns + t];
#pragma unroll 1
    for (unsigned r = 0; r < ROWS; r++) mixed = (mixed ^ weights[r * columns + t]) * 0x01000193u;
    out[2 * t] = sum;
    out[2 * t + 1] = mixed;
}
