// C = A * B modulo 2^32 over 16 x 16 shared tiles, with guards for ragged edges.
extern "C" __global__ void matmul_integer(const unsigned *a, const unsigned *b, unsigned *c,
                                          unsigned rows, unsigned inner, unsigned columns) {
    __shared__ unsigned tile_a[16][17], tile_b[16][17];
    unsigned x = threadIdx.x, y = threadIdx.y;
    unsigned row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x, sum = 0;
    for (unsigned tile = 0; tile < inner; tile += 16) {
        tile_a[y][x] = row < rows && tile + x < inner ? a[row * inner + tile + x] : 0;
        tile_b[y][x] = column < columns && tile + y < inner ? b[(tile + y) * columns + column] : 0;
        __syncthreads();
#pragma unroll 4
        for (unsigned k = 0; k < 16; k++) sum += tile_a[y][k] * tile_b[k][x];
        __syncthreads();
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
}
