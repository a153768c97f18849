// nvcc: -fmad=false
// Solves a 16 x 16 system in f64 by Gaussian elimination with partial pivoting, a block a system: the pivot
// is found by a warp reduction of (magnitude, row) pairs.
extern "C" __global__ void lu_solve(const double *systems, double *solutions, int *swaps) {
    __shared__ double a[16][17];
    __shared__ int pivot;
    int x = threadIdx.x, y = threadIdx.y, count = 0;
    for (int i = x; i < 17; i += 16) a[y][i] = systems[blockIdx.x * 272 + y * 17 + i];
    __syncthreads();
    for (int k = 0; k < 16; k++) {
        if (y == 0) {
            double best = x >= k ? fabs(a[x][k]) : -1;
            int row = x;
            for (int offset = 8; offset > 0; offset /= 2) {
                double other = __shfl_down_sync(0xffff, best, offset, 16);
                int other_row = __shfl_down_sync(0xffff, row, offset, 16);
                if (other > best || (other == best && other_row < row)) best = other, row = other_row;
            }
            if (x == 0) pivot = row;
        }
        __syncthreads();
        int p = pivot;
        if (p != k && y == 0) {
            count++;
            for (int i = x; i < 17; i += 16) {
                double keep = a[k][i];
                a[k][i] = a[p][i];
                a[p][i] = keep;
            }
        }
        __syncthreads();
        double factor = a[y][k] / a[k][k];
        __syncthreads();
        if (y > k)
            for (int i = x; i < 17; i += 16)
                if (i >= k) a[y][i] -= factor * a[k][i];
        __syncthreads();
    }
    if (x == 0 && y == 0) {
        double result[16];
        for (int i = 15; i >= 0; i--) {
            double sum = a[i][16];
            for (int j = i + 1; j < 16; j++) sum -= a[i][j] * result[j];
            result[i] = sum / a[i][i];
            solutions[blockIdx.x * 16 + i] = result[i];
        }
        swaps[blockIdx.x] = count;
    }
}
