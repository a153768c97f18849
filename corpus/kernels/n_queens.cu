// Counts solutions of the queens problem by an explicit stack of bit masks in local memory; a thread a
// choice of the first two columns.
extern "C" __global__ void n_queens(int size, unsigned *total, unsigned *per_thread) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, found = 0;
    unsigned all = (1u << size) - 1;
    unsigned first = t / size, second = t % size;
    if (first >= size) return;
    unsigned columns[16], left[16], right[16], free[16];
    int distance = (int)first - (int)second;
    if (distance > 1 || distance < -1) {
        unsigned a = 1u << first, b = 1u << second;
        int depth = 2;
        columns[2] = a | b;
        left[2] = (a << 2 | b << 1) & all;
        right[2] = a >> 2 | b >> 1;
        free[2] = all & ~(columns[2] | left[2] | right[2]);
        while (depth >= 2) {
            unsigned queen = free[depth] & -free[depth];
            if (queen == 0) {
                depth--;
                continue;
            }
            free[depth] ^= queen;
            if (depth == size - 1) {
                found++;
                continue;
            }
            columns[depth + 1] = columns[depth] | queen;
            left[depth + 1] = (left[depth] | queen) << 1 & all;
            right[depth + 1] = (right[depth] | queen) >> 1;
            free[depth + 1] = all & ~(columns[depth + 1] | left[depth + 1] | right[depth + 1]);
            depth++;
        }
    }
    per_thread[t] = found;
    atomicAdd(total, found);
}
