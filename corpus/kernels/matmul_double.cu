// nvcc: -fmad=false
// C = A * B in f64 with separate rounding of product and sum; 8 x 8 tiles, two rows a thread.
extern "C" __global__ void matmul_double(const double *a, const double *b, double *c, int size) {
    __shared__ double tile_a[16][8], tile_b[8][8];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 + y, column = blockIdx.x * 8 + x;
    double upper = 0, lower = 0;
    for (int tile = 0; tile < size; tile += 8) {
        tile_a[y][x] = a[row * size + tile + x];
        tile_a[y + 8][x] = a[(row + 8) * size + tile + x];
        tile_b[y][x] = b[(tile + y) * size + column];
        __syncthreads();
        for (int k = 0; k < 8; k++) {
            upper += tile_a[y][k] * tile_b[k][x];
            lower += tile_a[y + 8][k] * tile_b[k][x];
        }
        __syncthreads();
    }
    c[row * size + column] = upper;
    c[(row + 8) * size + column] = lower;
}
