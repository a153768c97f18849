// C = A * B for square f32 matrices, 16 x 16 tiles in shared memory, 256 threads a block.
extern "C" __global__ void matmul_tiled(const float *a, const float *b, float *c, int size) {
    __shared__ float tile_a[16][16], tile_b[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int tile = 0; tile < size; tile += 16) {
        tile_a[y][x] = a[row * size + tile + x];
        tile_b[y][x] = b[(tile + y) * size + column];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum = fmaf(tile_a[y][k], tile_b[k][x], sum);
        __syncthreads();
    }
    c[row * size + column] = sum;
}
