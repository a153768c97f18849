// Transposition of a ragged matrix through a padded tile, eight rows a step, fused with a convolution of
// the result's rows by a mask in constant memory.
__constant__ int mask[5] = {1, -4, 6, -4, 1};

extern "C" __global__ void transpose(const int *in, int *out, int *filtered, int width, int height) {
    __shared__ int tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = x < width && y + j < height ? in[(y + j) * width + x] : 0;
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) {
        if (x >= height || y + j >= width) continue;
        out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
        int sum = 0;
#pragma unroll
        for (int k = -2; k <= 2; k++) {
            int at = (int)threadIdx.x + k;
            if (at >= 0 && at < 32) sum += mask[k + 2] * tile[at][threadIdx.y + j];
        }
        filtered[(y + j) * height + x] = sum;
    }
}
