// Five generations of Conway's Game of Life on a 32 x 32 torus, a byte a cell, and one generation of the
// same rule on words of 32 cells by bit-parallel counting.
extern "C" __global__ void game_of_life(const unsigned char *cells, unsigned char *out, const unsigned *rows,
                                        unsigned *next_rows) {
    __shared__ unsigned char board[2][32][32];
    int x = threadIdx.x;
    for (int y = threadIdx.y; y < 32; y += 8) board[0][y][x] = cells[y * 32 + x];
    for (int step = 0; step < 5; step++) {
        __syncthreads();
        for (int y = threadIdx.y; y < 32; y += 8) {
            int count = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    if (dx || dy) count += board[step & 1][(y + dy) & 31][(x + dx) & 31];
            board[~step & 1][y][x] = count == 3 || (count == 2 && board[step & 1][y][x]);
        }
    }
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 8) out[y * 32 + x] = board[1][y][x];
    if (threadIdx.y > 0) return;
    unsigned ones = 0, twos = 0, fours = 0, alive = rows[x];
    for (int dy = -1; dy <= 1; dy++) {
        unsigned row = rows[(x + dy) & 31];
        for (int turn = -1; turn <= 1; turn++) {
            if (dy == 0 && turn == 0) continue;
            unsigned bits = __funnelshift_l(row, row, turn & 31);
            unsigned carry = ones & bits;
            ones ^= bits;
            fours |= twos & carry;
            twos ^= carry;
        }
    }
    next_rows[x] = twos & ~fours & (ones | alive);
}
