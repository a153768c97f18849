// Levenshtein distance by anti-diagonals: a thread a row, three diagonals in shared memory, one block a
// pair of strings. The last thread computes the longest common subsequence in a local array by itself.
extern "C" __global__ void edit_distance(const char *a, const char *b, int length, int *distances, int *common) {
    __shared__ int diagonal[3][65];
    const char *s = a + blockIdx.x * 64, *u = b + blockIdx.x * 64;
    int row = threadIdx.x;
    for (int step = 0; step <= 2 * length; step++) {
        int column = step - row, *now = diagonal[step % 3];
        if (row <= length && column >= 0 && column <= length) {
            int best;
            if (row == 0 || column == 0) {
                best = row + column;
            } else {
                const int *before = diagonal[(step + 2) % 3], *corner = diagonal[(step + 1) % 3];
                best = corner[row - 1] + (s[row - 1] != u[column - 1]);
                best = min(best, min(before[row], before[row - 1]) + 1);
            }
            now[row] = best;
        }
        __syncthreads();
    }
    if (row == 0) distances[blockIdx.x] = diagonal[2 * length % 3][length];
    if (row == 64) {
        unsigned char line[65] = {};
        for (int i = 0; i < length; i++) {
            unsigned char corner = 0;
            for (int j = 0; j < length; j++) {
                unsigned char above = line[j + 1];
                line[j + 1] = s[i] == u[j] ? corner + 1 : max(line[j + 1], line[j]);
                corner = above;
            }
        }
        common[blockIdx.x] = line[length];
    }
}
