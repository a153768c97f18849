// C = A * B, a thread an element, f32, no sharing; sizes that are no multiple of the block.
extern "C" __global__ void matmul_naive(const float *a, const float *b, float *c, int rows, int inner, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || column >= columns) return;
    float sum = 0;
    for (int k = 0; k < inner; k++) sum = fmaf(a[row * inner + k], b[k * columns + column], sum);
    c[row * columns + column] = sum;
}
