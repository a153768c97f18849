// Sparse matrix times vector in CSR, twice: a row a thread, and a row a warp with a shuffle reduction.
extern "C" __global__ void spmv_csr(const int *starts, const int *columns, const float *values, const float *x,
                                    float *by_thread, float *by_warp, int rows) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) {
        float sum = 0;
        for (int k = starts[i]; k < starts[i + 1]; k++) sum = fmaf(values[k], x[columns[k]], sum);
        by_thread[i] = sum;
    }
    int warp = i / 32, warps = gridDim.x * blockDim.x / 32, lane = threadIdx.x % 32;
    for (int row = warp; row < rows; row += warps) {
        float sum = 0;
        for (int k = starts[row] + lane; k < starts[row + 1]; k += 32) sum = fmaf(values[k], x[columns[k]], sum);
        for (int offset = 16; offset > 0; offset /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, offset));
        if (lane == 0) by_warp[row] = sum;
    }
}
